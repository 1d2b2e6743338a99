"""The driver and CANN by their files: recorded ones, and both folder layouts."""

from __future__ import annotations

import pytest

from healthcheck.machine import installed
from tests.support.systems import npu_machine

VERSION_INFO = "/usr/local/Ascend/driver/version.info"
LATEST = "/usr/local/Ascend/ascend-toolkit/latest"


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
    found = installed.cann(npu_machine({f"{folder}/{file}": text}))
    assert [toolkit.version for toolkit in found.toolkits] == ["9.1.0"]
    assert not found.home


def test_the_toolkit_of_the_environment_comes_first_and_links_count_once():
    files = {
        "/opt/cann/version.info": "Version=8.5.0",
        f"{LATEST}/version.info": "Version=9.1.0",
        "/usr/local/Ascend/cann/version.info": "Version=9.1.0",
    }
    found = installed.cann(
        npu_machine(
            files,
            {"/opt/cann": "/opt/cann"},
            {"ASCEND_TOOLKIT_HOME": "/opt/cann", "ATB_HOME_PATH": "/opt/atb"},
        )
    )
    assert [toolkit.version for toolkit in found.toolkits] == ["8.5.0", "9.1.0"]
    assert found.home_exists
    assert found.atb_sourced
    assert found.scripts == ()


@pytest.mark.parametrize("folder", ["ascend-toolkit", "cann"])
def test_the_scripts_that_deploy_sh_would_source(folder):
    toolkit, atb = f"/usr/local/Ascend/{folder}/set_env.sh", "/usr/local/Ascend/nnal/atb/set_env.sh"
    assert installed.cann(npu_machine({}, {toolkit: toolkit, atb: atb})).scripts == (toolkit, atb)
    sourced = {
        "ASCEND_HOME_PATH": LATEST,
        "LD_LIBRARY_PATH": "/usr/local/Ascend/nnal/atb/latest/atb/lib",
    }
    assert installed.cann(npu_machine({}, {toolkit: toolkit, atb: atb}, sourced)).scripts == ()


def test_nothing_installed():
    assert installed.driver(npu_machine()).version == ""
    assert installed.cann(npu_machine()).toolkits == ()
