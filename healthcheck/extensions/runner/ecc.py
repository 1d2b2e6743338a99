"""Reads the error counters of the memory of a chip: `npu-smi info -t ecc`.

The names of the counters are npu-smi's. Its documentation (HDK, `npu-smi info -t ecc`): Error Count is current,
Aggregate Total Err Cnt covers the chip's whole life; Isolated Pages are out of use; Next-Isolated Pages, 0 to 64,
will be isolated at a reset of the NPU or a restart of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.extensions.runner import npu_smi_queries
from healthcheck.machine.interface import Machine
from healthcheck.machine.npu_smi import whole

MAX_CARDS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecc:
    """The counters of a chip, by npu-smi's names."""

    npu: int
    chip: int
    counts: Mapping[str, int]


def counters(machine: Machine, command: str, cards: tuple[int, ...]) -> tuple[Ecc, ...]:
    """The counters of these cards; cards without counters are left out."""
    said = (
        (npu, machine.run(command, "info", "-t", "ecc", "-i", str(npu)))
        for npu in cards[:MAX_CARDS]
    )
    return tuple(ecc for npu, output in said for ecc in parse(output.stdout, npu=npu))


def parse(text: str, *, npu: int) -> tuple[Ecc, ...]:
    """Parse one output; older ones do not name the chip, which is then chip 0."""
    said = npu_smi_queries.fields(text)
    found = {chip: _counts(pairs) for chip, pairs in said.chips.items()} or {0: _counts(said.whole)}
    return tuple(Ecc(npu=npu, chip=chip, counts=counts) for chip, counts in found.items() if counts)


def grown(old: tuple[Ecc, ...], new: tuple[Ecc, ...]) -> tuple[tuple[Ecc, str, int], ...]:
    """The counters that have increased: the new record, the name, the old count."""
    known = {(ecc.npu, ecc.chip): ecc.counts for ecc in old}
    return tuple(
        (ecc, name, was)
        for ecc in new
        for name, count in ecc.counts.items()
        if count > (was := known.get((ecc.npu, ecc.chip), {}).get(name, count))
    )


def _counts(pairs: Mapping[str, str]) -> dict[str, int]:
    counts = (
        (name, whole(value)) for name, value in pairs.items() if name.lower().endswith(_ENDINGS)
    )
    return {name: count for name, count in counts if count is not None}


_ENDINGS = ("error count", "err cnt", "pages count")
