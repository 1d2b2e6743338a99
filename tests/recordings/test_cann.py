"""Files of the driver and of CANN, as their installers left them."""

from __future__ import annotations

import pytest

from healthcheck.machine import installed
from tests.support.recordings import recording
from tests.support.systems import npu_machine

LATEST = "/usr/local/Ascend/ascend-toolkit/latest"


def text(name: str) -> str:
    return recording(f"ascend/cann-env/{name}").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("driver_version.info_24.1.rc2.2", "24.1.rc2.2"),
        ("driver_version.info_25.3.rc1", "25.3.rc1"),
        ("driver_version.info_26.0.rc1_package_version", "26.0.rc1"),
    ],
)
def test_recorded_drivers(name, version):
    assert (
        installed.driver(npu_machine({"/usr/local/Ascend/driver/version.info": text(name)})).version
        == version
    )


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
    info = f"{LATEST}/aarch64-linux/ascend_toolkit_install.info"
    found = installed.cann(
        npu_machine({info: text(name)}, {f"{LATEST}/*-linux/ascend_toolkit_install.info": info})
    )
    assert [(toolkit.path, toolkit.version) for toolkit in found.toolkits] == [(LATEST, version)]


def test_a_driver_elsewhere_is_found_where_the_installer_wrote_it_down():
    moved = text("etc_ascend_install.info").replace("=/usr/local/Ascend", "=/opt/npu")
    files = {"/etc/ascend_install.info": moved, "/opt/npu/driver/version.info": "Version=25.5.1"}
    assert installed.driver(npu_machine(files)).path == "/opt/npu/driver/version.info"


def test_what_stands_in_the_recorded_environment_counts_as_sourced():
    recorded = text("env_official_container_v0.10.0_310p.txt")
    variables = dict(
        line.split("=", 1) for line in recorded.splitlines() if "=" in line and line[0] != "#"
    )
    found = installed.cann(npu_machine(variables=variables))
    assert found.home == LATEST
    assert found.atb_sourced
