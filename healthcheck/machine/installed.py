"""Finds the driver and CANN by their files, and the packages of the Python that would serve.

CANN has two layouts of folders. Before 8.5:
/usr/local/Ascend/ascend-toolkit/latest/<arch>-linux/ascend_toolkit_install.info. From 8.5 on:
/usr/local/Ascend/cann-<version> with the link /usr/local/Ascend/cann, also reached by ascend-toolkit/latest.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from healthcheck.machine import steps
from healthcheck.machine.interface import Machine
from healthcheck.machine.npu_smi import value_after, whole
from healthcheck.text.messages import msg

ROOT = "/usr/local/Ascend"
INSTALL_INFO = "/etc/ascend_install.info"
ASK_VERSIONS = Path(__file__).parent / "children" / "versions.py"
_FIRST_RELEASE = 20
_VERSION_FILES = (
    "version.info",
    "runtime/version.info",
    "share/info/runtime/version.info",
    "version.cfg",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """An installed CANN toolkit, or NNAL's ATB: its folder and its version."""

    path: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cann:
    """The installed parts of CANN, and the environment's variables for it.

    Attributes:
        toolkits: the installed ones, that of the environment first.
        home: ASCEND_HOME_PATH or ASCEND_TOOLKIT_HOME, "" if neither is set.
        home_exists: whether that folder exists.
        atb: NNAL's ATB, None if there is none.
        atb_sourced: whether the environment contains it.
        scripts: the existing environment scripts that were not sourced.
    """

    toolkits: tuple[Toolkit, ...] = ()
    home: str = ""
    home_exists: bool = False
    atb: Toolkit | None = None
    atb_sourced: bool = False
    scripts: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version of the first toolkit, "" without one."""
        return self.toolkits[0].version if self.toolkits else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """The driver by its files.

    Attributes:
        version: the release, "" if unknown.
        installed_s, booted_s: when its version file was written and when the machine started, since the epoch.
    """

    path: str = ""
    version: str = ""
    installed_s: float | None = None
    booted_s: float | None = None

    @property
    def newer_than_boot(self) -> bool:
        """Whether its files were written after the machine started: an older driver may be running."""
        return (
            self.installed_s is not None
            and self.booted_s is not None
            and self.installed_s > self.booted_s
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """The Python that would serve, and the versions of its packages by name with underscores."""

    trouble: str = ""
    python: str = ""
    executable: str = ""
    packages: Mapping[str, str]


def driver(machine: Machine) -> Driver:
    """The driver at the path in /etc/ascend_install.info, else at its usual path."""
    root = _value(machine.read(INSTALL_INFO) or "", "Driver_Install_Path_Param") or ROOT
    path = f"{root}/driver/version.info"
    text = machine.read(path)
    booted_s = whole(value_after(machine.read("/proc/stat") or "", "btime "))
    if text is None:
        return Driver(booted_s=booted_s)
    entries = machine.paths(glob.escape(path))
    version = _value(text, "package_version") or _value(text, "Version")
    release = version.partition(".")[0]
    return Driver(
        path=path,
        # On 26.x `Version` can be that of a component (7.35.23); releases count from 20.
        version=version if release.isdigit() and int(release[:6]) >= _FIRST_RELEASE else "",
        installed_s=entries[0].modified_s if entries else None,
        booted_s=booted_s,
    )


def cann(machine: Machine) -> Cann:
    """The toolkits and ATB, and whether this process's environment contains them."""
    home = machine.variable("ASCEND_HOME_PATH") or machine.variable("ASCEND_TOOLKIT_HOME") or ""
    libraries = machine.variable("LD_LIBRARY_PATH") or ""
    atb_home = machine.variable("ATB_HOME_PATH") or ""
    toolkits = _toolkits(machine, home)
    atb = _toolkit(machine, atb_home) or _toolkit(machine, f"{ROOT}/nnal/atb/latest")
    atb_sourced = bool(atb_home) or "/nnal/atb/" in libraries
    return Cann(
        toolkits=toolkits,
        home=home,
        home_exists=bool(home and machine.paths(glob.escape(home))),
        atb=atb,
        atb_sourced=atb_sourced,
        scripts=_scripts(machine, sourced=bool(home), atb_sourced=atb_sourced),
    )


def software(machine: Machine) -> Software:
    """The Python that would serve, and its packages."""
    output = machine.python(ASK_VERSIONS)
    found = steps.named(steps.parse(output), "versions", Software)
    trouble = output.trouble or steps.last_line(output) or msg("it printed nothing")
    return found[0] if found else Software(trouble=trouble, packages={})


def _toolkits(machine: Machine, home: str) -> tuple[Toolkit, ...]:
    folders = dict.fromkeys(filter(None, (home, f"{ROOT}/ascend-toolkit/latest", f"{ROOT}/cann")))
    own = (
        glob.escape(machine.variable("HOME") or "/root") + "/Ascend"
    )  # where a user without root installs
    patterns = [
        f"{ROOT}/ascend-toolkit/[0-9]*",
        f"{ROOT}/cann-*",
        f"{own}/ascend-toolkit/latest",
        f"{own}/cann",
    ]
    folders |= dict.fromkeys(entry.path for pattern in patterns for entry in machine.paths(pattern))
    found: dict[str, Toolkit] = {}
    for folder in folders:
        if toolkit := _toolkit(machine, folder):
            found.setdefault(toolkit.version, toolkit)
    return tuple(found.values())


def _toolkit(machine: Machine, folder: str) -> Toolkit | None:
    if not folder:
        return None
    infos = machine.paths(f"{glob.escape(folder)}/*-linux/ascend_toolkit_install.info")
    for path in (
        *(entry.path for entry in infos),
        *(f"{folder}/{name}" for name in _VERSION_FILES),
    ):
        text = machine.read(path)
        version = _value(text or "", "version") or _value(text or "", "Version")
        if version:
            return Toolkit(path=folder, version=version)
    return None


def _scripts(machine: Machine, *, sourced: bool, atb_sourced: bool) -> tuple[str, ...]:
    """The environment scripts that deploy.sh has to source, in order."""
    toolkit = () if sourced else (f"{ROOT}/ascend-toolkit/set_env.sh", f"{ROOT}/cann/set_env.sh")
    atb = () if atb_sourced else (f"{ROOT}/nnal/atb/set_env.sh",)
    there = [[path for path in paths if machine.paths(path)] for paths in (toolkit, atb)]
    return tuple(path for paths in there for path in paths[:1])


def _value(text: str, name: str) -> str:
    """The value in lines of `name=value`, without quotes and brackets."""
    found = re.search(rf"^[ \t]*{re.escape(name)}[ \t]*=(.*)$", text, re.MULTILINE)
    return found[1].strip().strip("\"'[]")[:80] if found else ""
