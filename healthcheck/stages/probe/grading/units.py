"""Units of measure: one table of what each name measures and by which factor, and compounds of its rows.

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
_Meaning = tuple[str, int, int | Fraction]
_DAY_MS = 86_400_000
MONEY = frozenset({"USD", "EUR", "GBP", "CNY", "JPY", "HKD", "KRW", "INR", "RUB"})

_NAMES: dict[str, tuple[_Meaning, ...]] = {
    names: tuple((kind, power, Fraction(factor)) for kind, power, factor in meanings)
    for names, meanings in json.loads((DATA / "units.json").read_text("utf-8")).items()
}
"""Patterns of names, and what they may measure: a dimension, its exponent, the exact factor to the smallest one."""
_MEANINGS: tuple[tuple[_Meaning, ...], ...] = tuple(_NAMES.values())
_NAME = re.compile(
    "(?:" + "|".join(f"({names})" for names in _NAMES) + ")(?![A-Za-z])", re.IGNORECASE
)
_POWER = re.compile(r"(?:(square|sq\b\.?|平方)|(cubic|cu\b\.?|立方))?\s?", re.IGNORECASE)
_EXPONENT = re.compile(
    r"(?:\s{0,2}\^(-?[1-9])(?!\d)|(?<=[A-Za-z])([23])(?![\w.])|\s(squared)\b|\s(cubed)\b)?",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:\s{0,3}\$(?=\s{0,3}[A-Za-z°µμ\u4e00-\u9fff]))?(?:\s?of\s+an?\b)?[\s(-]{0,3}", re.IGNORECASE
)
"""Between a number and its unit: the end of a formula, "of a", a space, hyphen or bracket."""
_PER = re.compile(
    r"\s{0,3}(?:/\s?|(?:per|an?|each|every)\s+|每一?)|[\s*]{1,2}(?=[A-Za-z]{1,3}\s?\^-)",
    re.IGNORECASE,
)
_PART = re.compile(r"\s*[\^/*]")
"""After a unit: part of an expression."""
_CURRENCY = re.compile(
    r"(\$|[€£¥￥₹₽]|\b(?:RMB|USD|CNY|EUR|GBP|JPY|INR|HKD))\s?-?\s?$", re.IGNORECASE
)
_CLOSED = re.compile(r"[^\n$]*\$(?!\s?\d)")
"""The rest of a formula that the dollar sign before a number opens."""
_RATE_BEFORE = re.compile(r"(?:每一?(个?小时|分钟?|秒钟?)|(时)速)[^\d，。,;；\n]{0,8}$")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit at a place of a text: what it may measure, and where it ends."""

    kinds: Kinds
    end: int


def unit_at(text: str, place: int, before: int | None = None) -> Unit | None:
    """The unit that begins at a place, perhaps of a rate; or the currency sign at `before`, the number's digits."""
    gap = _BEFORE.match(text, place)
    head = _atom(text, gap.end() if gap else place)
    if head is None and (head := _currency(text, place, before)) is None:
        return None
    above, end = head
    below: tuple[_Meaning, ...] = ()
    if (per := _PER.match(text, end)) and (divisor := _atom(text, per.end())):
        below, end = divisor
    elif _PART.match(text, end):
        return Unit((), end)
    elif before is not None and (rate := _RATE_BEFORE.search(text[max(before - 16, 0) : before])):
        below = (_atom(rate[1] or rate[2], 0) or ((), 0))[0]
    if not below:
        return Unit(
            tuple((f"{base}{power}", Fraction(factor)) for base, power, factor in above), end
        )
    return Unit(tuple(_rate(one, other) for one in above for other in below), end)


def _atom(text: str, place: int) -> tuple[tuple[_Meaning, ...], int] | None:
    """The meanings of one name with its exponent, and its end."""
    power = _POWER.match(text, place)
    name = _NAME.match(text, power.end()) if power else None
    if not (power and name and name.lastindex):
        return None
    exponent, end = int(power.lastindex or 0) + 1, name.end()
    if after := _EXPONENT.match(text, end):
        exponent *= int(after[1] or after[2] or (2 if after[3] else 3 if after[4] else 1))
        end = after.end()
    meanings = _MEANINGS[name.lastindex - 1]
    return tuple(
        (base, own * exponent, Fraction(factor) ** exponent) for base, own, factor in meanings
    ), end


def _currency(text: str, place: int, before: int | None) -> tuple[tuple[_Meaning, ...], int] | None:
    """The currency whose sign stands before the digits of a number; a dollar sign may also open a formula."""
    sign = _CURRENCY.search(text[max(before - 5, 0) : before]) if before else None
    if sign is None or (sign[1] == "$" and _CLOSED.match(text, place)):
        return None
    found = _atom("USD" if sign[1] == "$" else sign[1], 0)
    return (found[0], place) if found else None


def _rate(above: _Meaning, below: _Meaning) -> tuple[str, Fraction]:
    """The kind and factor of a quotient; rates of money, and those per day or longer, are not converted."""
    base, power, factor = above
    divisor, exponent, by = below
    if (
        base in MONEY
        or divisor == "month"
        or (divisor, by) in {("time", _DAY_MS), ("time", 7 * _DAY_MS)}
    ):
        return f"{base}{power} per {divisor} {by}", Fraction(factor)
    return f"{base}{power}/{divisor}{abs(exponent)}", factor / Fraction(by) ** (
        1 if exponent > 0 else -1
    )


def alike(some: Kinds, others: Kinds) -> bool:
    """Whether two quantities share an amount: "5 dollars" is also "5 dollars per day", but not "5 cents"."""
    return any(
        amount == other
        and (kind == its or (_plain(kind) == _plain(its) and (" per " in kind) != (" per " in its)))
        for kind, amount in some
        for its, other in others
    )


def _plain(kind: str) -> str:
    return kind.partition(" per ")[0]
