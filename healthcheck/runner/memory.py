"""The memory in use on each chip of a machine, and its holders, according to npu-smi."""

from __future__ import annotations

from healthcheck.ascend.hardware import MIB
from healthcheck.runner.devices import table_here
from healthcheck.runner.holders import holders_on
from healthcheck.runner.machine import Machine
from healthcheck.stages.service.records import ChipMemory


def used_memory(machine: Machine) -> tuple[ChipMemory, ...]:
    """The chips with their memory from npu-smi; () if there is no NPU, or no table."""
    table = table_here(machine)
    if table is None:
        return ()
    return tuple(
        ChipMemory(
            chip=f"NPU {chip.npu} chip {chip.chip}",
            used_bytes=chip.used_mib * MIB,
            holders=tuple(
                f"{holder.name or 'process'} {holder.pid}" for holder in holders_on(chip, table.holders or ())
            ),
        )
        for chip in table.chips
        if chip.used_mib is not None
    )
