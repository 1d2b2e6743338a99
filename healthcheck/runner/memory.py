"""How much memory of each chip of a machine is in use, and by whom, as npu-smi says it."""

from __future__ import annotations

from healthcheck.ascend.hardware import MIB
from healthcheck.runner.devices import table_here
from healthcheck.runner.machine import Machine
from healthcheck.runner.npu_smi import Chip, Table
from healthcheck.stages.service.records import ChipMemory


def used_memory(machine: Machine) -> tuple[ChipMemory, ...]:
    """The chips whose memory npu-smi prints; () if there is no NPU, or npu-smi prints no table."""
    table = table_here(machine)
    if table is None:
        return ()
    return tuple(
        ChipMemory(
            chip=f"NPU {chip.npu} chip {chip.chip}",
            used_bytes=chip.used_mib * MIB,
            holders=_holders(table, chip),
        )
        for chip in table.chips
        if chip.used_mib is not None
    )


def _holders(table: Table, chip: Chip) -> tuple[str, ...]:
    return tuple(
        f"{holder.name or 'process'} {holder.pid}"
        for holder in table.holders or ()
        if (holder.npu, holder.chip) == (chip.npu, chip.chip)
    )
