"""Parses the narrower queries of npu-smi: `info -m`, `info -t …`, `-v`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from healthcheck.machine.npu_smi import MAX_CHIPS, MAX_HOLDERS, Holder, whole

_PROCESS = re.compile(
    r"^[ \t]*Process id:[ \t]*([0-9]{1,12})[ \t]*Process name:(.*?)(?:Process memory\(MB\):(.*))?$",
    re.MULTILINE,
)
_COLUMNS = ("NPU ID", "Slot ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """One line of `info -m`: a chip and its numbers; `logic` is the number that processes use, from 0."""

    npu: int
    chip: int
    logic: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """An output of `name : value` lines.

    Attributes:
        whole: the fields of the card, or of no particular chip.
        chips: the fields of each chip, by its number.
    """

    whole: Mapping[str, str]
    chips: Mapping[int, Mapping[str, str]]


def mapping(text: str) -> tuple[Mapped, ...]:
    """Parse `info -m`: every chip that computes, without the card's management controller (MCU)."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if "NPU ID" in line and "Chip Name" in line), None)
    if at is None:
        return ()
    columns = sorted((name for name in _COLUMNS if name in lines[at]), key=lines[at].find)
    found = (_mapped(columns, line.split(maxsplit=len(columns) - 1)) for line in lines[at + 1 :])
    return tuple(row for row in found if row)[:MAX_CHIPS]


def _mapped(columns: list[str], words: list[str]) -> Mapped | None:
    if len(words) != len(columns):
        return None
    row = dict(zip(columns, words, strict=True))
    npu, chip = whole(row["NPU ID"]), whole(row.get("Chip ID", ""))
    if npu is None or chip is None or row["Chip Name"].strip().upper() == "MCU":
        return None
    return Mapped(npu=npu, chip=chip, logic=whole(row.get("Chip Logic ID", "")))


def fields(text: str) -> Fields:
    """Parse the output of `info -t …` and `-v`, for the card and for each chip.

    A chip's lines are a block between empty lines with a "Chip ID", at its beginning or its end.
    """
    card: dict[str, str] = {}
    chips: dict[int, dict[str, str]] = {}
    for block in text.replace("\r\n", "\n").split("\n\n"):
        pairs = dict(_pairs(block))
        chip = whole(pairs.get("Chip ID", ""))
        if chip is not None:
            chips.setdefault(chip, {}).update(pairs)
        elif pairs.get("Chip Name", "").upper() != "MCU":
            card.update(pairs)
    return Fields(whole=card, chips=chips)


def process_memory(text: str, *, npu: int, chip: int) -> tuple[Holder, ...]:
    """Parse `info -t proc-mem -i NPU -c CHIP`: the processes on one chip."""
    found = (
        Holder(npu=npu, chip=chip, pid=int(pid), name=name.strip(), memory_mib=whole(memory))
        for pid, name, memory in _PROCESS.findall(text)
    )
    return tuple(islice(found, MAX_HOLDERS))


def _pairs(text: str) -> list[tuple[str, str]]:
    split = (line.partition(":") for line in text.splitlines())
    return [(name.strip(), value.strip()) for name, colon, value in split if colon and name.strip()]
