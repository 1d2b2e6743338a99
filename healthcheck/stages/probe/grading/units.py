"""Units of measure, for right answers that have one: what each name measures, and by which factor.

A kind is a dimension with its exponent ("length1", "length1/time1"). Quantities of one kind convert; others differ.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction

from healthcheck.system.files import DATA

Kinds = tuple[tuple[str, Fraction], ...]
"""What a unit may measure, each with the factor to the smallest unit of that kind."""
_Meaning = tuple[str, int, Fraction]

_MEANINGS: dict[str, tuple[_Meaning, ...]] = {
    names: tuple((kind, power, Fraction(factor)) for kind, power, factor in meanings)
    for names, meanings in json.loads((DATA / "units.json").read_text("utf-8")).items()
}
"""Patterns of names, and what they may measure: a dimension, its exponent, the factor to the smallest unit."""
_BY_GROUP = tuple(_MEANINGS.values())
_NAME = re.compile(
    "(?:" + "|".join(f"({names})" for names in _MEANINGS) + ")(?![A-Za-z])", re.IGNORECASE
)
_POWER = re.compile(r"(?:(square|sq\b\.?|平方)|(cubic|cu\b\.?|立方))?\s?", re.IGNORECASE)
_EXPONENT = re.compile(r"\s{0,2}\^(-?[1-9])(?!\d)|(?<=[A-Za-z])([23])(?![\w.])")
_GAP = re.compile(r"(?:\s{0,3}\$(?=\s{0,3}[A-Za-z°µμ\u4e00-\u9fff]))?[\s(-]{0,3}")
"""Between a number and its unit: the end of a formula, a space, hyphen or bracket."""
_PER = re.compile(r"\s{0,3}(?:/\s?|(?:per|an?|each|every)\s+|每一?)", re.IGNORECASE)
_PART = re.compile(r"\s*[\^/*]")
"""After a unit: part of an expression."""
_CURRENCIES = {"$": "USD", "¥": "CNY", "￥": "CNY", "€": "EUR", "£": "GBP"}


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit at a place of a text: what it may measure, and where it ends."""

    kinds: Kinds
    end: int


def unit_at(text: str, place: int) -> Unit | None:
    """The unit that begins at a place of a normalised text, perhaps of a rate; None if there is none."""
    gap = _GAP.match(text, place)
    above = _atom(text, gap.end() if gap else place)
    if above is None:
        return None
    meanings, end = above
    per = _PER.match(text, end)
    below = _atom(text, per.end()) if per else None
    if below is None and _PART.match(text, end):
        return Unit((), end)
    if below is None:
        return Unit(tuple((f"{base}{power}", factor) for base, power, factor in meanings), end)
    rates = tuple(_rate(one, other) for one in meanings for other in below[0])
    return Unit(rates, below[1])


def currency(sign: str) -> Kinds:
    """The unit of a currency sign."""
    found = _atom(_CURRENCIES.get(sign, ""), 0)
    return tuple((f"{base}{power}", factor) for base, power, factor in found[0]) if found else ()


def _atom(text: str, place: int) -> tuple[tuple[_Meaning, ...], int] | None:
    """The meanings of one name with its exponent, and its end."""
    power = _POWER.match(text, place)
    name = _NAME.match(text, power.end()) if power else None
    if not (power and name and name.lastindex):
        return None
    exponent, end = int(power.lastindex or 0) + 1, name.end()
    if after := _EXPONENT.match(text, end):
        exponent *= int(after[1] or after[2])
        end = after.end()
    meanings = _BY_GROUP[name.lastindex - 1]
    return tuple((base, own * exponent, factor**exponent) for base, own, factor in meanings), end


def _rate(above: _Meaning, below: _Meaning) -> tuple[str, Fraction]:
    base, power, factor = above
    divisor, exponent, by = below
    return f"{base}{power}/{divisor}{exponent}", factor / by


def alike(some: Kinds, others: Kinds, value: Fraction, other: Fraction) -> bool:
    """Whether two values with their units are the same amount."""
    return any(
        kind == its and value * factor == other * by for kind, factor in some for its, by in others
    )
