"""Numbers with their units: 2 hours 30 minutes is one quantity, and so is "2.5 hours, or 150 minutes"."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from healthcheck.stages.probe.grading.numbers import Number, in_digits, spelled
from healthcheck.stages.probe.grading.units import Kinds, unit_at

_JOINED = re.compile(r"\s*(?:,|and\b|又|零)?\s*")
_RESTATED = re.compile(
    r"[\s,，(（=*_]*(?:or|i\.e\.,?|that\s+is,?|which\s+is|equivalently|即|也就是|或|合)?\s*"
)
_ABOUT = re.compile(
    r"[\s,，(（$]*(?:or\s+)?(?:\\?approx|≈|~|about|approximately|roughly|around|大约|约等于|约)\s*"
)
_CLOSE = Fraction(1, 200)
_DIGIT = re.compile(r"\d")


def quantities(text: str) -> tuple[Number, ...]:
    """The numbers of a normalised text, with the parts of one quantity merged; words if it has no digits.

    A quantity in several units has a reading in each of them; if it is also given roughly, that is a reading too.
    """
    merged: list[Number] = []
    for bare in in_digits(text) or spelled(text):
        amounts = _amounts(text, bare)
        number = replace(bare, amounts=amounts) if amounts else bare
        both = _together(text, merged[-1], number) if merged else None
        if both:
            merged[-1] = both
        else:
            merged.append(number)
    return tuple(merged)


def _amounts(text: str, number: Number) -> Kinds:
    digits = _DIGIT.search(text, number.start, number.end)
    if text.endswith(("%", "cent"), number.start, number.end):
        return (("percent", number.readings[0]),)
    unit = unit_at(text, number.end, digits.start() if digits else None)
    return tuple((kind, number.readings[0] * factor) for kind, factor in unit.kinds) if unit else ()


def unit_end(text: str, place: int) -> int:
    """The end of the unit that begins at a place; the place itself without a unit."""
    found = unit_at(text, place)
    return found.end if found else place


def _together(text: str, first: Number, second: Number) -> Number | None:
    unit = unit_at(text, first.end)
    between = text[unit.end if unit else first.end : second.start]
    if _ABOUT.fullmatch(between) and _close(first, second):
        return Number(
            start=first.start, end=second.end, readings=(*first.readings, *second.readings),
            amounts=(*first.amounts, *second.amounts),
        )  # fmt: skip
    other = unit_at(text, second.end) if unit else None
    if unit is None or other is None:
        return None
    kinds = dict(other.kinds)
    kind, large = next(
        ((kind, factor) for kind, factor in unit.kinds if kind in kinds), ("", Fraction(0))
    )
    if not kind or large == (small := kinds[kind]):
        return None
    value, more = first.readings[0] * large, second.readings[0] * small
    if value == more and _RESTATED.fullmatch(between):
        readings = (*first.readings, *second.readings)
        return Number(start=first.start, end=other.end, readings=readings, amounts=((kind, value),))
    if large > small and 0 <= more < large and _JOINED.fullmatch(between):
        total = value + more
        readings = (total / large, total / small)
        return Number(start=first.start, end=other.end, readings=readings, amounts=((kind, total),))
    return None


def _close(first: Number, second: Number) -> bool:
    return any(
        abs(a - b) <= _CLOSE * max(abs(a), abs(b)) for a in first.readings for b in second.readings
    )
