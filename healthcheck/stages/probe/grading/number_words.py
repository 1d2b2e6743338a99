"""Numbers in words: English ("one hundred and twenty-six") and Chinese (三万五千, 百分之五十, 二分之一, 三点五)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

Spelled = tuple[int, int, tuple[Fraction, ...]]

UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: value for value, word in enumerate(UNITS)} | {
    word: 10 * i for i, word in enumerate(_TENS, 2)
}
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORD = "|".join(sorted((*_SMALL, *_LARGE, "hundred"), key=len, reverse=True))
_ENGLISH = re.compile(
    rf"(?P<sign>\b(?:minus|negative)\s+)?\b(?P<number>(?:a\s+(?=hundred|thousand|million))?(?:{_WORD})"
    rf"(?:(?:[\s-]+|\s+and\s+)(?:{_WORD}))*)\b(?:\s+point(?P<decimals>(?:[\s-]+(?:{'|'.join(UNITS[:10])})){{1,9}})\b)?(?P<percent>\s+per\s?cent\b)?(?P<half>\s+and\s+a\s+half\b)?",
    re.IGNORECASE,
)
_PARTS = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "hundredth": 100,
}  # fmt: skip
_FRACTION = re.compile(
    rf"\b(?P<top>{'|'.join(UNITS[1:])}|an?)[\s-]+(?P<bottom>{'|'.join(set(_PARTS) - {'half'})})s?\b",
    re.IGNORECASE,
)
_HALF = re.compile(r"\b(?:(?:a|one)\s+)?half\b", re.IGNORECASE)
_DIGITS = {**{sign: place for place, sign in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_DIGIT = "[零〇一二三四五六七八九]{1,40}"
_SIGN = "[零〇一二两三四五六七八九十百千万亿]{1,40}"
_HALVES = re.compile(rf"(?P<whole>{_SIGN}|\d{{1,9}})个半")
_CHINESE = re.compile(
    rf"(?P<sign>负)?(?:百分之(?P<percent>{_SIGN})(?:点(?P<tenths>{_DIGIT}))?|(?P<bottom>{_SIGN})分之(?P<top>{_SIGN})"
    rf"|(?P<number>{_SIGN})(?:点(?P<decimals>{_DIGIT}))?)"
)


def spelled_numbers(text: str) -> Iterator[Spelled]:
    """The start, end and readings of each number in words, in order."""
    taken = 0
    found = (*_fractions(text), *_english(text), *_chinese(text))
    for start, end, readings in sorted(found, key=lambda each: (each[0], -each[1])):
        if start >= taken:
            taken = end
            yield start, end, readings


def _fractions(text: str) -> Iterator[Spelled]:
    """Two thirds, a quarter; 两个半."""
    for match in _FRACTION.finditer(text):
        top = match["top"].lower()
        value = Fraction(1 if top in {"a", "an"} else _SMALL[top], _PARTS[match["bottom"].lower()])
        yield match.start(), match.end(), (value,)
    for match in _HALVES.finditer(text):
        whole = (
            int(match["whole"]) if match["whole"].isdecimal() else _chinese_value(match["whole"])
        )
        yield match.start(), match.end(), (whole + Fraction(1, 2),)


def _english(text: str) -> Iterator[Spelled]:
    halves = {match.end(): match.start() for match in _HALF.finditer(text)}
    for match in _ENGLISH.finditer(text):
        if any(start <= match.start() < end for end, start in halves.items()):
            continue
        value = Fraction(_english_value(re.findall("[a-z]+", match["number"].lower())))
        if match["decimals"]:
            digits = "".join(
                str(_SMALL[word]) for word in re.findall("[a-z]+", match["decimals"].lower())
            )
            value += Fraction(int(digits), 10 ** len(digits))
        if match["half"]:
            value += Fraction(1, 2)
            del halves[match.end()]
        value = -value if match["sign"] else value
        yield match.start(), match.end(), (value, value / 100) if match["percent"] else (value,)
    yield from ((start, end, (Fraction(1, 2),)) for end, start in halves.items())


def _english_value(parts: list[str]) -> int:
    total = section = 0
    for part in parts:
        if part in _SMALL:
            section += _SMALL[part]
        elif part == "hundred":
            section = max(section, 1) * 100
        elif part in _LARGE:
            total, section = total + max(section, 1) * _LARGE[part], 0
    return total + section


def _chinese(text: str) -> Iterator[Spelled]:
    for match in _CHINESE.finditer(text):
        readings = _chinese_readings(match)
        if readings:
            factor = -1 if match["sign"] else 1
            yield match.start(), match.end(), tuple(factor * value for value in readings)


def _chinese_readings(match: re.Match[str]) -> tuple[Fraction, ...]:
    if match["percent"]:
        value = _chinese_value(match["percent"]) + _chinese_decimals(match["tenths"])
        return value, value / 100
    if match["bottom"]:
        bottom = _chinese_value(match["bottom"])
        return (Fraction(_chinese_value(match["top"]), bottom),) if bottom else ()
    return (_chinese_value(match["number"]) + _chinese_decimals(match["decimals"]),)


def _chinese_decimals(signs: str | None) -> Fraction:
    digits = "".join(str(_DIGITS[sign]) for sign in signs or "")
    return Fraction(int(digits or 0), 10 ** len(digits))


def _chinese_value(text: str) -> int:
    if all(sign in _DIGITS for sign in text):
        return int("".join(str(_DIGITS[sign]) for sign in text))
    total = section = digit = 0
    unit = 1
    for sign in text:
        if sign in _DIGITS:
            digit, unit = _DIGITS[sign], 1 if sign in "零〇" else unit // 10
        elif sign in _PLACES:
            section += (digit or 1) * _PLACES[sign]
            digit, unit = 0, _PLACES[sign]
        else:
            total, unit = (total + section + digit) * _MYRIADS[sign], _MYRIADS[sign]
            section = digit = 0
    return total + section + digit * max(unit, 1)
