"""Parses the output of `npu-smi info`, in each of its layouts.

A table has boxed cells. Each chip has two rows: one with its NPU, its name, its health and figures, one with its
chip number, its bus and its memory. Generations differ in the place of the first two (910A and 910B; A3 with a
physical id and two dies per card; the wider box of 26.x; 310 and 310P with a device number and no HBM; 950 with the
NPU's id in its own cell), so cells are identified by content and not by place.

Sources: recorded outputs of npu-smi 20.2 to 26.x on 310, 310P, 310B, 910A, 910B1-4, 910C and 950.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from healthcheck.errors import KitError
from healthcheck.text.messages import msg

HEALTHS = ("OK", "Warning", "Alarm", "Critical", "UNKNOWN")
"""Mildest first; Warning is minor, Alarm major, Critical urgent, UNKNOWN absent or not started (HDK documents)."""
MAX_CHIPS = 256
MAX_HOLDERS = 4096
_OLD_HBM_MIB = 32768
_ABSENT = {"", "-", "NA", "N/A"}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TOOL = re.compile(r"^[ \t|]*npu-smi[ \t|]+([0-9][^\s|]*)", re.MULTILINE)
_DRIVER = re.compile(r"(?<![^\s|])Version:[ \t|]+([^\s|]+)")
_USED_OF_TOTAL = re.compile(r"(?<![^\s/])([0-9]{1,12})\s*/\s*([0-9]{1,12})(?![^\s/])")
_CODE = re.compile(r"\bret(?:\s+is|\s*=)\s*-(\d{1,12})(?!\d)")


class SmiError(KitError):
    """The text lists no chip; the message quotes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One chip, or one die of an A3 card. None is a value that the layout lacks or shows as NA.

    Attributes:
        npu: the host's number of the card, also in a container.
        chip: its number on the card.
        physical: the number in /dev/davinciN: the Phy-ID or Device column.
        used_mib, total_mib: of the memory that models use: HBM, or DDR without HBM.
        other_mib: of the memory in the column beside HBM, which a 910B leaves at 0.
    """

    npu: int
    chip: int
    name: str
    health: str
    physical: int | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    used_mib: int | None = None
    total_mib: int | None = None
    other_mib: int | None = None

    @property
    def kind(self) -> str:
        """The chip's name; 910A for a 910A that npu-smi 24.1.0 shows as 910B."""
        renamed = (
            self.name.removeprefix("Ascend") == "910B"
            and self.total_mib == _OLD_HBM_MIB
            and self.other_mib
        )
        return "910A" if renamed else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process with memory on a chip. `pid` is the host's; names are cut to 15 characters, or blank."""

    npu: int
    chip: int
    pid: int
    name: str
    memory_mib: int | None
    container_pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One output of `npu-smi info`.

    Attributes:
        tool: version of npu-smi, "" if the table has no title.
        driver: version of the driver, likewise.
        holders: None without a table of processes (older versions, or truncated output).
        cut: number of chips without a second row.
    """

    tool: str
    driver: str
    chips: tuple[Chip, ...]
    holders: tuple[Holder, ...] | None
    cut: int = 0


def parse(text: str) -> Table:
    """Parse the table.

    Raises:
        SmiError: it has no complete row of a chip.
    """
    text = _ESCAPES.sub("", text)
    lines = text.splitlines()
    tool, driver = _versions(text)
    rows = [cells for line in lines if (cells := _cells(line))]
    border = next((at for at, cells in enumerate(rows) if "Process id" in cells), None)
    read = tuple(_chips(rows[:border]))
    chips = tuple(chip for chip in read if chip)[:MAX_CHIPS]
    if not chips:
        said = next((repr(line.strip()[:200]) for line in lines if line.strip()), msg("nothing"))
        raise SmiError(msg("npu-smi printed no table of chips but {said}", said=said))
    below = rows[border + 1 :] if border is not None else []
    holders = tuple(holder for cells in below if (holder := _holder(cells)))[:MAX_HOLDERS]
    known = None if border is None else holders
    return Table(tool=tool, driver=driver, chips=chips, holders=known, cut=read.count(None))


def holders_on(chip: Chip, holders: Iterable[Holder]) -> list[Holder]:
    """The processes that hold memory on one chip."""
    return [holder for holder in holders if (holder.npu, holder.chip) == (chip.npu, chip.chip)]


def error_codes(text: str) -> tuple[int, ...]:
    """The codes of the driver's library ("ret is -8005"), in order; npu-smi may still exit with 0."""
    return tuple(dict.fromkeys(-int(digits) for digits in _CODE.findall(text)))


def whole(text: str) -> int | None:
    """An integer of a plausible size; None for anything else."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None


def decimal(text: str) -> float | None:
    """A plain decimal number; None for anything else."""
    before, _, after = text.strip().partition(".")
    if whole(before) is None or (after and whole(after) is None):
        return None
    return float(f"{before}.{after or 0}")


def value_after(text: str, beginning: str) -> str:
    """The rest of the first line with this beginning, or ""."""
    lines = (line.strip() for line in text.splitlines())
    return next(
        (line.removeprefix(beginning).strip() for line in lines if line.startswith(beginning)), ""
    )


def _versions(text: str) -> tuple[str, str]:
    """The versions in "npu-smi 25.5.1   Version: 25.5.1", boxed or not."""
    tool, driver = _TOOL.search(text), _DRIVER.search(text)
    return tool[1] if tool else "", driver[1] if driver else ""


def _cells(line: str) -> tuple[str, ...]:
    """The cells of a complete boxed row; () for a border, a truncated line, or other text."""
    line = line.strip()
    if len(line) < 2 or line[0] != "|" or line[-1] != "|":
        return ()
    return tuple(cell.strip() for cell in line[1:-1].split("|"))


def _chips(rows: list[tuple[str, ...]]) -> Iterator[Chip | None]:
    """The chips; None for one whose second row is missing."""
    above: tuple[str, ...] | None = None
    for cells in rows:
        if _is_first(cells, above):
            if above:
                yield None
            above = cells
        elif above and len(cells) == len(above) and (chip := _chip(above, cells)):
            yield chip
            above = None
    if above:
        yield None


def _is_first(cells: tuple[str, ...], above: tuple[str, ...] | None) -> bool:
    """Whether this is the first of a chip's two rows: a number, a name, and a health, any word or none.

    Names may be numbers too (310), and a second row's bus may be NA; such a row is a first one by its health, or if
    no chip waits for its second row.
    """
    if len(cells) not in {3, 4} or not cells[0][:1].isdigit():
        return False
    words, health = " ".join(cells[:-2]).split(), cells[-2]
    if _health(health) in HEALTHS or not all(map(str.isdigit, words)):
        return True
    return above is None and len(words) > 1 and health not in _ABSENT and ":" not in health


def _health(text: str) -> str:
    """A health word as in the HDK's documents; other words unchanged, no word as "unstated"."""
    if text in _ABSENT:
        return "unstated"
    return next((health for health in HEALTHS if health.lower() == text.lower()), text)


def _chip(first: tuple[str, ...], second: tuple[str, ...]) -> Chip | None:
    number, _, name = " ".join(first[:-2]).partition(" ")
    npu, ids = whole(number), [whole(word) for word in " ".join(second[:-2]).split()]
    memory = _figures(second[-1])
    figures = first[-1].split()
    if npu is None or None in ids or not memory:
        return None
    used, total = memory[-1]
    return Chip(
        npu=npu,
        chip=ids[0] or 0 if ids else 0,
        name=name.strip(),
        health=_health(first[-2]),
        physical=ids[1] if len(ids) > 1 else None,
        power_w=decimal(figures[0]) if figures else None,
        temperature_c=decimal(figures[1]) if len(figures) > 1 else None,
        used_mib=used,
        total_mib=total,
        other_mib=memory[0][1] if len(memory) > 1 else None,
    )


def _figures(cell: str) -> list[tuple[int, int]]:
    """Each "used / total" pair: "0   0 / 0   41697/ 65536" has a load of 0 and two pairs."""
    return [(int(used), int(total)) for used, total in _USED_OF_TOTAL.findall(cell)]


def _holder(cells: tuple[str, ...]) -> Holder | None:
    if len(cells) not in {4, 5}:
        return None
    ids, pid = [whole(word) for word in cells[0].split()], whole(cells[1])
    if not ids or None in ids or pid is None:
        return None
    npu, chip = ids[0] or 0, ids[1] or 0 if len(ids) > 1 else 0
    container_pid = whole(cells[4]) if len(cells) > 4 else None
    memory = whole(cells[3])
    return Holder(
        npu=npu, chip=chip, pid=pid, name=cells[2], memory_mib=memory, container_pid=container_pid
    )
