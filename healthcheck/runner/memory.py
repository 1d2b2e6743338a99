"""The chips of a machine, how much memory of each is in use, and by whom, as npu-smi says it."""

from __future__ import annotations

from healthcheck.hardware import Devices, listed_devices
from healthcheck.runner import npu_smi
from healthcheck.runner.machine import Machine, Output
from healthcheck.runner.npu_smi import Chip, SmiError, Table
from healthcheck.service.records import ChipMemory

SMI_PLACES = ("/usr/local/sbin/npu-smi", "/usr/local/bin/npu-smi", "/usr/local/Ascend/driver/tools/npu-smi")
_MIB = 2**20


def smi_info(machine: Machine, *, expected: bool) -> tuple[str, Output]:
    """The command for npu-smi here, and its `info`; also searched outside PATH if a device is expected."""
    output = machine.run("npu-smi", "info")
    for place in SMI_PLACES if output.missing and expected else ():
        if machine.paths(place):
            return place, machine.run(place, "info")
    return "npu-smi", output


def used_memory(machine: Machine) -> tuple[ChipMemory, ...]:
    """The chips whose memory npu-smi prints; () if there is no NPU, or npu-smi prints no table."""
    _, output = smi_info(machine, expected=bool(machine.paths("/dev/davinci[0-9]*")))
    try:
        table = npu_smi.parse(output.text)
    except SmiError:
        return ()
    return tuple(
        ChipMemory(
            chip=f"NPU {chip.npu} chip {chip.chip}",
            used_bytes=chip.used_mib * _MIB,
            holders=_holders(table, chip),
        )
        for chip in table.chips
        if chip.used_mib is not None
    )


def devices_here(machine: Machine) -> Devices | None:
    """The devices that npu-smi shows; None if there is no NPU, or one of an unknown kind."""
    _, output = smi_info(machine, expected=bool(machine.paths("/dev/davinci[0-9]*")))
    try:
        chips = npu_smi.parse(output.text).chips
    except SmiError:
        return None
    return listed_devices([chip.kind for chip in chips], min(chip.total_mib or 0 for chip in chips))


def _holders(table: Table, chip: Chip) -> tuple[str, ...]:
    return tuple(
        f"{holder.name or 'process'} {holder.pid}"
        for holder in table.holders or ()
        if (holder.npu, holder.chip) == (chip.npu, chip.chip)
    )
