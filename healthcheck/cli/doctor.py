"""`npu-adapter doctor`: the programs and packages that the kit can use on this machine, and their purpose."""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from healthcheck import contract, extras, programs
from healthcheck.cli import output
from healthcheck.cli.parsing import version
from healthcheck.errors import Blocked
from healthcheck.plan.engine_config.environment import MAKE, find_python
from healthcheck.probe.grading import judge
from healthcheck.processes import holders
from healthcheck.sandbox.box import unavailable
from healthcheck.sandbox.job import Mode
from healthcheck.scaffold.render import COPIER

_ASK_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One thing that the kit can use.

    Attributes:
        found: its version, place or state; "" if it is not there.
        needed: nothing works without it.
        without: the consequence if it is missing, or how to get it.
    """

    name: str
    found: str
    use: str
    without: str
    needed: bool = False


def run(options: argparse.Namespace) -> int:
    """Look and print; 1 if a needed part is missing."""
    output.refuse_unwritable(options.json)
    parts = tuple(look())
    output.show(_lines(parts), options.json, lambda: {"schema": 1, "version": version(), "parts": parts})
    return int(any(part.needed and not part.found for part in parts))


def _lines(parts: tuple[Part, ...]) -> Iterator[str]:
    yield version()
    for part in parts:
        mark = "yes" if part.found else "NO " if part.needed else "no "
        yield f"{mark}  {part.name:<22} {part.found or part.without}"
        yield " " * 28 + f"for {part.use}"


def look() -> Iterator[Part]:
    """The parts, the required ones first."""
    yield Part(
        name="git", found=_version_of("git", "--version"), needed=True, without="install git",
        use="everything about a repository: the service gets the committed files",
    )  # fmt: skip
    yield Part(
        name="sh", found=_real_place("sh"), needed=True, without="install a POSIX shell",
        use="reading deploy.sh as its own shell does",
    )  # fmt: skip
    yield from _shells()
    yield _namespaces()
    taken = ", ".join(dict.fromkeys(holder.owner for holder in holders(contract.PORT)))
    yield Part(
        name=f"port {contract.PORT}", found="" if taken else "free",
        without=f"taken by {taken}: end it before a launch", use="the service stage: deploy.sh serves there",
    )  # fmt: skip
    yield Part(
        name=COPIER, found=_distribution(COPIER), without=extras.install_command(COPIER),
        use="npu-adapter new and update",
    )  # fmt: skip
    yield Part(
        name=judge.PACKAGE, found=_distribution(judge.PACKAGE),
        without="only numbers, words and choices are graded; for expressions: "
        f"{extras.install_command(judge.PACKAGE)}",
        use="probe --dataset: judges answers that are expressions, such as (3, 14) or LaTeX (the extra [math]); "
        "the kit itself judges the rest",
    )  # fmt: skip
    yield from _engines()


def _shells() -> Iterator[Part]:
    for name in ("dash", "bash"):
        yield Part(
            name=name, found=_real_place(name), without=f"install {name}",
            use="finding what only one of the two understands; which of them the service has as sh is unknown",
        )  # fmt: skip


def _engines() -> Iterator[Part]:
    launch = "the stages up to weights run without it; a launch on this machine does not"
    yield Part(
        name="vllm", found=_command("vllm") or _distribution("vllm"), without=launch,
        use="the launch, and its own list of options and architectures instead of the kit's catalogue",
    )  # fmt: skip
    yield Part(
        name="vllm-ascend", found=_distribution("vllm-ascend"), without=launch, use="vLLM on an Ascend NPU",
    )  # fmt: skip
    engine = find_python()
    yield Part(
        name="engine configuration", found=engine.path if engine else "", without=f"run {MAKE}",
        use="verify --deep: the real vLLM and vllm-ascend build their configuration, without an NPU",
    )  # fmt: skip
    yield Part(
        name="npu-smi", found=_command("npu-smi"), without="no NPU driver tools here",
        use="npu-adapter runner: the devices and their health",
    )  # fmt: skip
    yield Part(
        name="pytest", found=_distribution("pytest"), without="pip install pytest",
        use="the tests of an adapter repository",
    )  # fmt: skip


def _version_of(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            (programs.find_or_name(program), *arguments), cwd="/", capture_output=True, text=True,
            timeout=_ASK_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""


def _command(name: str) -> str:
    return programs.find(name) or ""


def _real_place(name: str) -> str:
    """The path of a program, and the target if it is a link, as sh often is."""
    place = programs.find(name)
    real = os.path.realpath(place) if place else ""
    return f"{place} (is {real})" if place and os.path.basename(real) != name else place or ""


def _distribution(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _namespaces() -> Part:
    """Try the sandbox on a script that does nothing."""
    without = "not allowed here; the plan stage says so"
    try:
        found = "" if unavailable(Mode.ISOLATED) else "allowed"
    except Blocked as error:
        found, without = "", str(error)
    return Part(
        name="namespaces", found=found, without=without,
        use="a sandbox for deploy.sh with no network and no real programs (user, mount, PID, network namespaces)",
    )  # fmt: skip
