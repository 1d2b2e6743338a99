"""The devices of a machine and the memory in use on them, as npu-smi shows them."""

from __future__ import annotations

from healthcheck.ascend.hardware import MIB, Devices, listed_devices
from healthcheck.machine import npu_smi
from healthcheck.machine.interface import Machine, Output, called
from healthcheck.machine.npu_smi import SmiError, Table, holders_on
from healthcheck.stages.service.records import ChipMemory

SMI_PLACES = ("/usr/local/sbin/npu-smi", "/usr/local/bin/npu-smi", "/usr/local/Ascend/driver/tools/npu-smi")


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
    return listed_devices([chip.kind for chip in table.chips], min(chip.total_mib or 0 for chip in table.chips))


def used_memory(machine: Machine) -> tuple[ChipMemory, ...]:
    """The chips with their memory; () if there is no NPU, or no table."""
    table = table_here(machine)
    if table is None:
        return ()
    found = []
    for chip in table.chips:
        if chip.used_mib is not None:
            held = holders_on(chip, table.holders or ())
            holders = tuple(f"{holder.name or 'process'} {holder.pid}" for holder in held)
            name = f"NPU {chip.npu} chip {chip.chip}"
            found.append(ChipMemory(chip=name, used_bytes=chip.used_mib * MIB, holders=holders))
    return tuple(found)
