"""The driver and CANN by their files: recorded ones, and both folder layouts."""

from __future__ import annotations

import pytest

from healthcheck.runner import installed
from healthcheck.runner.machine import Entry
from healthcheck.runner.recording import RecordedMachine, Recording
from tests.support.shared import shared

VERSION_INFO = "/usr/local/Ascend/driver/version.info"
LATEST = "/usr/local/Ascend/ascend-toolkit/latest"


def machine(files=None, paths=(), variables=None):
    return RecordedMachine(
        Recording(
            files={path: tuple(text.splitlines()) for path, text in (files or {}).items()},
            paths={pattern: (Entry(path=path, kind="folder"),) for pattern, path in paths},
            variables=variables or {},
        )
    )


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("driver_version.info_24.1.rc2.2", "24.1.rc2.2"),
        ("driver_version.info_25.3.rc1", "25.3.rc1"),
        ("driver_version.info_26.0.rc1_package_version", "26.0.rc1"),
    ],
)
def test_recorded_drivers(name, version):
    text = shared(f"data/ascend/cann-env/{name}").read_text(encoding="utf-8")
    assert installed.driver(machine({VERSION_INFO: text})).version == version


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("ascend_toolkit_install.info_8.0.0", "8.0.0"),
        ("ascend_toolkit_install.info_8.1.RC1_x86_64", "8.1.RC1"),
        ("ascend_toolkit_install.info_8.2.RC1", "8.2.RC1"),
        ("ascend_toolkit_install.info_8.3.RC2", "8.3.RC2"),
    ],
)
def test_recorded_toolkits(name, version):
    text = shared(f"data/ascend/cann-env/{name}").read_text(encoding="utf-8")
    info = f"{LATEST}/aarch64-linux/ascend_toolkit_install.info"
    found = installed.cann(machine({info: text}, [(f"{LATEST}/*-linux/ascend_toolkit_install.info", info)]))
    assert [(toolkit.path, toolkit.version) for toolkit in found.toolkits] == [(LATEST, version)]


def test_a_driver_elsewhere_is_found_where_the_installer_wrote_it_down():
    text = shared("data/ascend/cann-env/etc_ascend_install.info").read_text(encoding="utf-8")
    moved = text.replace("=/usr/local/Ascend", "=/opt/npu")
    files = {"/etc/ascend_install.info": moved, "/opt/npu/driver/version.info": "Version=25.5.1"}
    assert installed.driver(machine(files)).path == "/opt/npu/driver/version.info"


@pytest.mark.parametrize("folder", [LATEST, "/usr/local/Ascend/cann"])
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("version.info", "Version=9.1.0"),
        ("runtime/version.info", "Version=9.1.0\n"),
        ("share/info/runtime/version.info", 'version="9.1.0"'),
    ],
)
def test_both_layouts_and_each_version_file(folder, file, text):
    found = installed.cann(machine({f"{folder}/{file}": text}))
    assert [toolkit.version for toolkit in found.toolkits] == ["9.1.0"]
    assert not found.home


def test_the_toolkit_of_the_environment_comes_first_and_links_count_once():
    files = {
        "/opt/cann/version.info": "Version=8.5.0",
        f"{LATEST}/version.info": "Version=9.1.0",
        "/usr/local/Ascend/cann/version.info": "Version=9.1.0",
    }
    found = installed.cann(
        machine(
            files, [("/opt/cann", "/opt/cann")], {"ASCEND_TOOLKIT_HOME": "/opt/cann", "ATB_HOME_PATH": "/opt/atb"}
        )
    )
    assert [toolkit.version for toolkit in found.toolkits] == ["8.5.0", "9.1.0"]
    assert found.home_exists
    assert found.atb_sourced
    assert found.scripts == ()


@pytest.mark.parametrize("folder", ["ascend-toolkit", "cann"])
def test_the_scripts_that_deploy_sh_would_source(folder):
    toolkit, atb = f"/usr/local/Ascend/{folder}/set_env.sh", "/usr/local/Ascend/nnal/atb/set_env.sh"
    assert installed.cann(machine({}, [(toolkit, toolkit), (atb, atb)])).scripts == (toolkit, atb)
    sourced = {"ASCEND_HOME_PATH": LATEST, "LD_LIBRARY_PATH": "/usr/local/Ascend/nnal/atb/latest/atb/lib"}
    assert installed.cann(machine({}, [(toolkit, toolkit), (atb, atb)], sourced)).scripts == ()


def test_what_stands_in_the_recorded_environment_counts_as_sourced():
    text = shared("data/ascend/cann-env/env_official_container_v0.10.0_310p.txt").read_text(encoding="utf-8")
    variables = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    found = installed.cann(machine(variables=variables))
    assert found.home == LATEST
    assert found.atb_sourced


def test_nothing_installed():
    assert installed.driver(machine()).version == ""
    assert installed.cann(machine()).toolkits == ()
