"""Numbers as models write them, read exactly: separators, signs, units, fractions, percent, words in two languages.

Every number is a Fraction: nothing is rounded. A number can have more than one reading ("50 %" is 50 and 1/2); two
numbers are equal if they share one.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from healthcheck.stages.probe.grading import number_words as words
from healthcheck.stages.probe.grading.units import Kinds, alike

MAX_CHARS = 20_000
"""The most characters to read, from the end of an answer, so that an endless loop of digits costs no time."""
_GAP = re.compile(r"\s{33,}")

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SIGNS = dict.fromkeys(map(ord, "−﹣‐‑‒–"), "-")
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000"), " ")
_TIMES_SIGNS = dict.fromkeys(map(ord, "·⋅∙×"), "*")
_TABLE: dict[int, int | str] = {ord("⁄"): "/", **_WIDE, **_SIGNS, **_SPACES, **_TIMES_SIGNS}
_VULGAR = re.compile("[¼-¾⅐-⅞]")
POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_LATEX = (
    (re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox|textit)\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\{,\}|,?\\[,!](?=\s?\d{3})|\\!"), ","),
    (re.compile(r"\\(?:left|right|displaystyle)(?![a-z])|\\[()\[\]]"), ""),
    (re.compile(r"\\(?:quad|qquad|[,;: ])"), " "),
    (re.compile(r"(?<=\d)\s*(?=\\[dt]?frac)"), " "),
    (re.compile(r"\\[dt]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}"), r"\1/\2"),
    (re.compile(r"\\[dt]?frac\s*(\d)\s*(\d)"), r"\1/\2"),
    (re.compile(r"\\(?:times|cdot)(?![a-z])"), "*"),
    (re.compile(r"\\([$%#_&])"), r"\1"),
    (re.compile(r"\^\s*\{\s*(-?\d+)\s*\}"), r"^\1"),
    (re.compile(r"\^\{?\\(?:circ|degree)\}?"), "°"),
)
_ROOT = re.compile(r"(?P<times>\d{0,9})\s?(?:\\sqrt|√)\s*[({]?\s*(?P<under>\d{1,18})\s*[)}]?")

_NUMBER = re.compile(
    r"""(?P<sign>(?:\b(?:minus|negative)\s+|[-+负]\s?)?)
    (?:(?:US\$|[$€£¥])\s?)?(?P<inner>-?)
    (?:
      (?P<whole>\d+)\s+(?P<top>\d+)\s?/\s?(?P<bottom>\d+)(?![\d/]|\.\d)
      | (?P<numerator>\d+)/(?P<denominator>\d+)(?![\d/]|\.\d)
      | (?P<points>\d{1,3}(?:\.\d{3}){2,}(?![\d.]*\d))
      | (?P<plain>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[ ']\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![^\s($=])\.\d+)
    )
    (?P<power>(?:[eE][-+]?\d{1,3}(?!\w)|\s?\*\s?10\s?\^\s?-?\d{1,3}|\^\d{1,2})?)
    (?P<scale>\s?(?:thousand|million|billion|trillion|dozen|hundred)\b|[kK](?![A-Za-z])|(?-i:M)(?![A-Za-z])|\s?(?:[千百](?![米克瓦卡分])|[万亿萬億]+))?
    (?P<percent>\s?(?:%|per\s?cent\b))?""",
    re.VERBOSE | re.IGNORECASE,
)
_SCALES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12,
    "k": 1000,
    "m": 10**6,
    "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "万亿": 10**12, "萬億": 10**12,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number in a text: its place and its possible values, the literal one first.

    Attributes:
        amounts: for known units: the kind (length, time …), and the value in the smallest unit of that kind.
    """

    start: int
    end: int
    readings: tuple[Fraction, ...]
    amounts: Kinds = ()

    def equals(self, other: Number) -> bool:
        """Whether both share an amount, if both have a known unit, else whether they share a value."""
        if self.amounts and other.amounts:
            return alike(self.amounts, other.amounts)
        return not set(self.readings).isdisjoint(other.readings)

    @property
    def canonical(self) -> str:
        """The first reading as text, the same for "70,000" and "70000.0"."""
        value = self.readings[0]
        return (
            str(value.numerator)
            if value.denominator == 1
            else f"{value.numerator}/{value.denominator}"
        )


def bounded(text: str) -> str:
    """The end of an answer, as much as the patterns need; shortens long gaps, which many patterns reread."""
    return _GAP.sub(lambda gap: "\n\n" if "\n" in gap[0] else " ", text[-MAX_CHARS:])


def normalise(text: str) -> str:
    """Convert full-width characters, dashes, vulgar fractions, LaTeX and Markdown to one plain form."""
    text = text if text.isascii() else text.translate(_TABLE)
    if not text.isascii():
        text = _VULGAR.sub(
            lambda found: f" {unicodedata.normalize('NFKC', found[0])}".replace("⁄", "/"), text
        )
        text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda found: "^" + found.group().translate(POWERS), text)
        text = re.sub(r"(?<=\d)’(?=\d{3})", "'", text)
    if any(sign in text for sign in "\\{^√"):
        for pattern, replacement in _LATEX:
            text = pattern.sub(replacement, text)
        text = _ROOT.sub(_root, text)
    text = re.sub(r"(?<=\d)\*\*(?=-?\d)", "^", text)
    return text.replace("**", "").replace("__", "").replace("`", "")


def _root(found: re.Match[str]) -> str:
    """The root of a square as a number; other roots are not numbers, and their digits are not read."""
    under = int(found["under"])
    root = math.isqrt(under)
    return f" {int(found['times'] or 1) * root} " if root * root == under else " √ "


def in_digits(text: str) -> tuple[Number, ...]:
    """The numbers in digits, in order; `text` is normalised."""
    found: list[Number] = []
    place, scale_before = 0, 0
    while match := _NUMBER.search(text, place):
        place = match.end()
        if match.start() and _glued(text, match):
            continue
        number = _read(text, match)
        if number is None:
            continue
        scale = _scale(match)
        if found and found[-1].end == number.start and _continues(match, scale_before, scale):
            last = found.pop()
            readings = (last.readings[0] + number.readings[0],)
            number = Number(start=last.start, end=number.end, readings=readings)
        found.append(number)
        scale_before = scale if _is_chinese(match) else 0
    return tuple(found)


def spelled(text: str) -> tuple[Number, ...]:
    """The numbers in English or Chinese words, in order."""
    return tuple(
        Number(start=start, end=end, readings=readings)
        for start, end, readings in words.spelled_numbers(text)
    )


def _glued(text: str, match: re.Match[str]) -> bool:
    """Whether the digits are part of a word, a code name (x2, H2O) or a unit (cm^2)."""
    before = text[match.start() - 1]
    if before == "^":
        return True
    return before.isascii() and (before.isalnum() or before == "_") and not match["sign"]


def _read(text: str, match: re.Match[str]) -> Number | None:
    value = _magnitude(match)
    if value is None:
        return None
    start = match.start()
    if _negative(text, match) or match["inner"]:
        value = -value
    elif match["sign"]:
        start += len(match["sign"])
    scale = _scale(match)
    readings = [value if scale == 1 else value * scale]
    if scale == _SCALES["dozen"]:  # "3 dozen" also answers "how many dozen?"
        readings.append(value)
    if match["percent"]:
        readings.append(readings[0] / 100)
    return Number(start=start, end=match.end(), readings=tuple(readings))


def _magnitude(match: re.Match[str]) -> Fraction | None:
    try:
        if match["whole"]:
            return int(match["whole"]) + Fraction(int(match["top"]), int(match["bottom"]))
        if match["numerator"]:
            return Fraction(int(match["numerator"]), int(match["denominator"]))
        plain = match["points"] or match["plain"]
        value = Fraction(
            int(plain)
            if plain.isdecimal()
            else re.sub("[., ']" if match["points"] else "[, ']", "", plain)
        )
    except (ZeroDivisionError, ValueError):
        return None
    power = match["power"]
    if not power:
        return value
    exponent = int(re.split(r"[eE^]", power)[-1])
    if power.startswith("^"):
        return Fraction(value**exponent) if value < 10**6 else None
    return value * Fraction(10) ** exponent


def _negative(text: str, match: re.Match[str]) -> bool:
    """Whether the sign before a number belongs to it and is not a subtraction, hyphen, range or bullet."""
    sign = match["sign"].strip()
    if sign in {"", "+"}:
        return False
    if sign != "-":
        return True
    before = text[: match.start()]
    held = before.rstrip(" ")
    if text[match.start() + 1] == " ":
        return held.endswith(("=", "(", "{"))
    if before != held:
        return not held or not (held[-1].isdigit() or held[-1] in ")]%")
    return not before or not (
        before[-1] in ")]%" or (before[-1].isascii() and before[-1].isalnum())
    )


def _scale(match: re.Match[str]) -> int:
    return _SCALES.get((match["scale"] or "").strip().lower(), 1)


def _is_chinese(match: re.Match[str]) -> bool:
    return bool(match["scale"]) and not match["scale"].strip().isascii()


def _continues(match: re.Match[str], scale_before: int, scale: int) -> bool:
    """Whether this is the second part of a number such as 3万5千 or 1亿2000万."""
    return scale_before > scale and not match["sign"] and match["plain"] is not None
