"""The devices of a machine, as npu-smi shows them."""

from __future__ import annotations

from healthcheck.ascend.hardware import Devices, listed_devices
from healthcheck.machine import npu_smi
from healthcheck.machine.interface import Machine, Output, called
from healthcheck.machine.npu_smi import SmiError, Table

SMI_PLACES = (
    "/usr/local/sbin/npu-smi",
    "/usr/local/bin/npu-smi",
    "/usr/local/Ascend/driver/tools/npu-smi",
)


def smi_info(machine: Machine, *, expected: bool) -> tuple[str, Output]:
    """The name of npu-smi, and its `info`; also searched outside PATH if a device is expected."""
    return called(machine, "npu-smi", SMI_PLACES if expected else (), "info")


def table_here(machine: Machine) -> Table | None:
    """The table of npu-smi; None if there is no NPU, or no table."""
    _, output = smi_info(machine, expected=bool(machine.paths("/dev/davinci[0-9]*")))
    try:
        return npu_smi.parse(output.text)
    except SmiError:
        return None


def devices_here(machine: Machine) -> Devices | None:
    """The devices of npu-smi's table; None if there is no NPU, or one of an unknown kind."""
    table = table_here(machine)
    if table is None:
        return None
    return listed_devices(
        [chip.kind for chip in table.chips], min(chip.total_mib or 0 for chip in table.chips)
    )
