"""Numbers with their units: 2 hours 30 minutes is one quantity, and so is "2.5 hours, or 150 minutes"."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from healthcheck.stages.probe.grading.numbers import Number, in_digits, spelled

_MEASURES: tuple[dict[str, int], ...] = (
    {"s|secs?|seconds?|秒钟?": 1, "mins?|minutes?|分(?!钱)钟?": 60, "h|hrs?|hours?|个?小时|时": 3600,
     "days?|天|日": 86_400, "weeks?|周|个?星期": 604_800},
    {"分钱?": 1, "角|毛钱?": 10, "元|块钱?": 100},
    {"cents?": 1, "dollars?": 100},
    {"mm|毫米": 1, "cm|厘米|公分": 10, "m|met(?:er|re)s?|米": 1000, "km|kilomet(?:er|re)s?|千米|公里": 10**6},
    {"in|inch(?:es)?": 1, "ft|foot|feet": 12, "yd|yards?": 36},
    {"mg|毫克": 1, "g|grams?|克": 1000, "kg|kilograms?|千克|公斤": 10**6, "t|tons?|吨": 10**9},
    {"oz|ounces?": 1, "lbs?|pounds?": 16},
    {"ml|毫升": 1, "l|lit(?:er|re)s?|升": 1000},
)  # fmt: skip
_UNITS = tuple(
    (
        tuple(measure.values()),
        re.compile(rf"\s?(?:{'|'.join(f'({names})' for names in measure)})(?![A-Za-z])", re.IGNORECASE),
    )
    for measure in _MEASURES
)
"""The factors of each group of units, and a pattern with a regex group for each factor."""
_UNIT = re.compile("|".join(pattern.pattern for _, pattern in _UNITS), re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|and\b|又|零)?\s*")
_RESTATED = re.compile(r"[\s,，(（=*_]*(?:or|i\.e\.,?|that\s+is,?|which\s+is|equivalently|即|也就是|或|合)?\s*")
_ABOUT = re.compile(r"[\s,，(（$]*(?:or\s+)?(?:\\?approx|≈|~|about|approximately|roughly|around|大约|约等于|约)\s*")
_CLOSE = Fraction(1, 200)
_COMPOUND = re.compile(
    r"\s*(?:[\^/*]|per\b|an?\s+(?:second|minute|hour|day|week|month|year)\b|[每²³])|\d", re.IGNORECASE
)
"""After a unit: part of an area, a volume or a rate, whose conversion factors differ."""
_PREPOSITION = re.compile(r"\s?in\s+\w", re.IGNORECASE)


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


def _amounts(text: str, number: Number) -> tuple[tuple[int, Fraction], ...]:
    unit = _unit(text, number.end)
    if unit is None or _COMPOUND.match(text, unit[2]) or _PREPOSITION.match(text, number.end):
        return ()
    return ((unit[0], number.readings[0] * unit[1]),)


def unit_end(text: str, place: int) -> int:
    """The end of the unit that begins at a place; the place itself without a unit."""
    found = _unit(text, place)
    return found[2] if found else place


def _unit(text: str, place: int) -> tuple[int, int, int] | None:
    """Group, factor and end of the unit at a place; 分 after 元 and 角 is money, else time."""
    if not _UNIT.match(text, place):  # true after most numbers: one match instead of eight
        return None
    found = ((group, _unit_of_group(text, place, group)) for group in range(len(_UNITS)))
    return next(((group, *unit) for group, unit in found if unit), None)


def _together(text: str, first: Number, second: Number) -> Number | None:
    unit = _unit(text, first.end)
    between = text[unit[2] if unit else first.end : second.start]
    if _ABOUT.fullmatch(between) and _close(first, second):
        return Number(
            start=first.start, end=second.end, readings=(*first.readings, *second.readings),
            amounts=(*first.amounts, *second.amounts),
        )  # fmt: skip
    other = _unit_of_group(text, second.end, unit[0]) if unit else None
    if unit is None or other is None or unit[1] == other[0]:
        return None
    value, more = first.readings[0] * unit[1], second.readings[0] * other[0]
    if value == more and _RESTATED.fullmatch(between):
        readings = (*first.readings, *second.readings)
        return Number(start=first.start, end=other[1], readings=readings, amounts=((unit[0], value),))
    if unit[1] > other[0] and 0 <= more < unit[1] and _JOINED.fullmatch(between):
        total = value + more
        readings = (total / unit[1], total / other[0])
        return Number(start=first.start, end=other[1], readings=readings, amounts=((unit[0], total),))
    return None


def _unit_of_group(text: str, place: int, group: int) -> tuple[int, int] | None:
    """Factor and end of a unit of one group."""
    factors, names = _UNITS[group]
    match = names.match(text, place)
    return (factors[match.lastindex - 1], match.end()) if match and match.lastindex else None


def _close(first: Number, second: Number) -> bool:
    return any(abs(a - b) <= _CLOSE * max(abs(a), abs(b)) for a in first.readings for b in second.readings)
