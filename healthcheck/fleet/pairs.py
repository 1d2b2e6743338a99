"""Tries machines with each other: an all-reduce over HCCL between pairs of them.

Each machine is in two pairs at least, where there are three or more, so that a bad machine is told from a bad link.
"""

from __future__ import annotations

import signal
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from healthcheck.fleet.pair_records import GLOO, HCCL, TRANSPORTS, Outcome, Pair, Tried
from healthcheck.fleet.readback import short
from healthcheck.messages import joined, msg
from healthcheck.runner.machine import Output
from healthcheck.runner.probes import get_numbers, get_text, get_whole, last_line, steps
from healthcheck.runner.records import Software

NEEDS = {HCCL: "torch_npu", GLOO: "torch"}
LIMIT_S = 300
"""For one program: imports, the connection, four all-reduces of 64 MiB."""
_MOST_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Two machines that are to be tried with each other, and the transport: HCCL or GLOO."""

    left: str
    right: str
    over: str


class Room(Protocol):
    """Where programs on two machines meet. Each machine has given one NPU for it, if it has any."""

    @property
    def packages(self) -> Mapping[str, Software]:
        """What the Python of each machine has; `trouble` says why a machine cannot take part."""

    def meet(self, meetings: Sequence[Meeting]) -> Mapping[Meeting, tuple[Output, Output]]:
        """Hold these meetings, all at a time; no machine is in two of them."""

    def close(self) -> None:
        """End what runs, and give the NPUs back."""


def tried(room: Room, npus: Mapping[str, int], tell: Callable[[Pair], object]) -> Tried:
    """Try pairs of machines, given by name with the number of their NPUs: over HCCL, or over gloo without NPUs.

    `tell` hears of each pair.
    """
    over = {name: HCCL if count else GLOO for name, count in npus.items()}
    skipped = {name: why for name in npus if (why := _why_not(room.packages[name], over[name]))}
    meetings = [
        Meeting(left=left, right=right, over=kind)
        for kind in TRANSPORTS
        for left, right in chosen([name for name in npus if over[name] == kind and name not in skipped])
    ]
    pairs: dict[Meeting, Pair] = {}
    for each in rounds(meetings):
        for meeting, outputs in room.meet(each).items():
            pairs[meeting] = judged(meeting, outputs)
            tell(pairs[meeting])
    unready = frozenset(name for name in skipped if npus[name])
    return Tried(pairs=tuple(pairs[meeting] for meeting in meetings), skipped=skipped, unready=unready)


def chosen(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A ring, and each with the next but one: all pairs of up to five machines, four for each of more."""
    count = len(names)
    found = {tuple(sorted((at, (at + step) % count))) for step in (1, 2) for at in range(count)}
    return tuple((names[left], names[right]) for left, right in sorted(found) if left != right)


def rounds(meetings: Sequence[Meeting]) -> tuple[tuple[Meeting, ...], ...]:
    """The meetings in rounds, in each of which a machine has one at most."""
    found: list[list[Meeting]] = []
    for meeting in meetings:
        names = {meeting.left, meeting.right}
        free = (each for each in found if not names & {name for one in each for name in (one.left, one.right)})
        place = next(free, None)
        if place is None:
            found.append([meeting])
        else:
            place.append(meeting)
    return tuple(map(tuple, found))


def judged(meeting: Meeting, outputs: tuple[Output, Output]) -> Pair:
    """What the programs on the two machines say; their output may have any content."""
    sides = [_side(name, output) for name, output in zip((meeting.left, meeting.right), outputs, strict=True)]
    works = all(side.rates for side in sides)
    faults = [side.fault for side in sides if side.fault]
    outcome = Outcome.WORKS if works else Outcome.FAILS if faults else Outcome.OPEN
    reasons = faults or [side.trouble for side in sides if side.trouble]
    return Pair(
        left=meeting.left,
        right=meeting.right,
        over=meeting.over,
        outcome=outcome,
        bytes_per_s=min(statistics.median(side.rates) for side in sides) if works else None,
        said="" if works else joined("; ", map(short, reasons)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """What one of the programs said: a `fault` proves that it does not work, `trouble` only that it did not."""

    rates: tuple[float, ...] = ()
    fault: str = ""
    trouble: str = ""


def _side(name: str, output: Output) -> _Side:
    said = {get_text(step, "step"): step for step in steps(output)}
    if "error" in said:
        return _Side(fault=f"{name}: {get_text(said['error'], 'text')[:_MOST_TEXT]}")
    reduced = said.get("reduced", {})
    wrong, of, moved = (get_whole(reduced, key) for key in ("wrong", "of", "bytes"))
    if wrong:
        return _Side(fault=msg("{name}: {wrong} of {of} values of the sum are wrong", name, wrong, of))
    if output.status == -signal.SIGALRM:
        late = msg("{name}: no end within {limit_s} s", name, LIMIT_S)
        return _Side(fault=late) if "begin" in said else _Side(trouble=msg("{late}; it was still importing", late))
    if output.status:
        return _Side(
            fault=msg(
                "{name}: ended with status {status}: {last_line}",
                name,
                output.status,
                last_line(output, _MOST_TEXT),
            )
        )
    if output.trouble or wrong is None or not moved:
        return _Side(trouble=msg("{name}: {trouble}", name, output.trouble or msg("it ended without a result")))
    return _Side(rates=tuple(moved / max(seconds, 1e-9) for seconds in get_numbers(reduced, msg("seconds"))))


def _why_not(software: Software, over: str) -> str:
    if software.trouble:
        return short(software.trouble)
    return "" if software.packages.get(NEEDS[over]) else msg("its Python has no {needs}", NEEDS[over])
