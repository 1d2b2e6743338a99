"""The comparisons of log-probabilities on the page: a heat map by relation and length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.report import words
from healthcheck.text.messages import Message, msg

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 2**30)
MOST_ROWS = 40
NAME_CHARACTERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The heat map, row by row.

    Attributes:
        lengths: the longest prompt of each column.
        rows: relations with the largest movement in nats for each column, None without one.
    """

    said: str
    lengths: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


def compared(metrics: Mapping[str, JsonValue]) -> Compared | None:
    """The heat map of the metrics of numerics; None without them."""
    shifts: dict[str, dict[int, float]] = {}
    for relation, length, shift in _shifts(metrics.get("numerics_by_length")):
        of = shifts.setdefault(relation, {})
        column = next(longest for longest in LENGTHS if length <= longest)
        of[column] = max(of.get(column, 0.0), shift)
    if not shifts:
        return None
    columns = [longest for longest in LENGTHS if any(longest in of for of in shifts.values())]
    worst = max(shift for of in shifts.values() for shift in of.values())
    said = msg(
        "The same prompts were asked in {shifts} situations; log-probabilities moved by at most {worst:.2f} nats.",
        shifts=len(shifts),
        worst=worst,
    )
    rows = tuple((name, tuple(map(of.get, columns))) for name, of in shifts.items())
    return Compared(said=said, lengths=tuple(map(_length, columns)), rows=rows)


def _shifts(value: JsonValue) -> list[tuple[str, int, float]]:
    found = []
    for row in value if isinstance(value, list) else []:
        if isinstance(row, dict):
            relation, length, shift = row.get("relation"), row.get("length"), row.get("shift")
            if (
                isinstance(relation, str)
                and isinstance(length, int)
                and isinstance(shift, int | float)
            ):
                found.append((_name(relation), min(length, LENGTHS[-1]), float(shift)))
    names = list(dict.fromkeys(name for name, _, _ in found))[:MOST_ROWS]
    return [row for row in found if row[0] in names]


def _name(text: str) -> str:
    """A relation's name; text that is not one of the kit's messages comes from a file, and is cut."""
    shown = words.plain(text)
    return shown if isinstance(shown, Message) else shown[:NAME_CHARACTERS]


def _length(longest: int) -> str:
    if longest == LENGTHS[-1]:
        return msg("more")
    return f"{longest // 1024}k" if longest >= 1024 else str(longest)
