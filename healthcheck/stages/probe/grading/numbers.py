"""Numbers in digits, read exactly: separators, signs, fractions, powers, percent.

Every number is a Fraction: nothing is rounded. A number can have more than one reading ("50 %" is 50 and 1/2); two
numbers are equal if they share one.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction

from healthcheck.stages.probe.grading.units import Kinds, alike, currency, unit_at

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
    (?:(?:US)?(?:(?P<currency>[€£¥￥]|\$(?![^$\n]{0,80}\$))|\$)\s?)?(?P<inner>-?)
    (?:
      (?P<whole>\d+)\s+(?P<top>\d+)\s?/\s?(?P<bottom>\d+)(?![\d/]|\.\d)
      | (?P<numerator>\d+)/(?P<denominator>\d+)(?![\d/]|\.\d)
      | (?P<points>\d{1,3}(?:\.\d{3}){2,}(?![\d.]*\d))
      | (?P<plain>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:[ ']\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<![^\s($=])\.\d+)
    )
    (?P<power>(?:[eE][-+]?\d{1,3}(?!\w)|\s?\*\s?10\s?\^\s?-?\d{1,3}|\^\d{1,2})?)
    (?P<scale>\s?(?:thousand|million|billion|trillion)\b|[kK](?![A-Za-z])|(?-i:M)(?![A-Za-z])|\s?(?:[千百](?![米克瓦卡分])|[万亿萬億]+))?
    (?P<percent>\s?(?:%|per\s?cent\b))?""",
    re.VERBOSE | re.IGNORECASE,
)
_LEAD = re.compile(r"[\s$(\[{\"'“”:：=~]*(?:[A-Za-z]\w?\s?=[\s$]*)?")
_GOES_ON = re.compile(
    r"\s?(?:\\?pi\b|π|√|\\sqrt|[ixyz]\b(?!['’]|\.\w)|:\d)"
    r"|[\s$]*(?:[-+*/^×÷]\s?[\d(a-z\\]|\\(?:times|div|cdot|pm)|[=≈]\s*$)"
    r"|[\s,，]*(?:and\b|又|和)?\s?\d"
    r"|(?:\s\w+)?[\s,，]*(?:\bor\b(?!\s(?:about|approximately|roughly)\b)|或|还是)[^\d\n]{0,9}\d"
)
"""After a number: more of an expression or quantity, or an alternative."""
_TO = re.compile(r"\s?(?:to\b|到|至|~)\s?\d")
_DENIED = re.compile(r"(?:\bnot|n['’]t|不是|不选|并非)[\s$(（]{0,3}$")
_FUNCTION = re.compile(r"\b(?:log|ln|sin|cos|tan|sqrt)[\s(]{0,2}$")
MOST_NUMBERS = 200
"""From the end of a text: reading each takes time."""
_SCALES = {
    "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "k": 1000, "m": 10**6,
    "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "万亿": 10**12, "萬億": 10**12,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number in a text: its place and its possible values, the literal one first.

    Attributes:
        end: the end of the digits with their percent sign, without the unit.
        kinds: what its unit measures; empty without a known unit.
        unit_end: the end of the unit; `end` without one.
    """

    start: int
    end: int
    readings: tuple[Fraction, ...]
    kinds: Kinds = ()
    unit_end: int

    def is_right(self, gold: Number) -> bool:
        """Whether this number is the right answer: in its unit, if both have one, else by value."""
        if self.kinds and gold.kinds:
            return alike(self.kinds, gold.kinds, self.readings[0], gold.readings[0])
        return not set(self.readings).isdisjoint(gold.readings)

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


def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of a normalised text, in order, each with its unit."""
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
            number = replace(number, start=last.start, readings=readings)
        found.append(number)
        scale_before = scale if _is_chinese(match) else 0
    return tuple(found)


def stated_number(statement: str) -> Number | None:
    """The number with which a normalised statement begins, else that after its last equals sign.

    None if it is part of an expression, or one of several.
    """
    for part in (statement, statement.rpartition("=")[2]):
        lead, found = _LEAD.match(part), numbers(part)
        if not (lead and found and found[0].start <= lead.end()):
            continue
        if not (_is_part(part, found[0]) or _TO.match(part, found[0].unit_end)):
            return found[0]
    return None


def last_number(text: str) -> Number | None:
    """The last number of a normalised text; None if it is part of an expression, or one of several."""
    places = [match.start() for match in re.finditer(r"\d+", text)][-MOST_NUMBERS:]
    text = text[places[0] if len(places) == MOST_NUMBERS else 0 :]
    found = numbers(text)
    if not found:
        return None
    last = found[-1]
    if _is_part(text, last) or is_denied(text, last.start):
        return None
    joined = _GOES_ON.match(text, found[-2].unit_end) if len(found) > 1 else None
    return None if joined and joined.end() > last.start else last


def is_denied(text: str, place: int) -> bool:
    """Whether "not" precedes this place."""
    return _DENIED.search(text[max(place - 12, 0) : place]) is not None


def _is_part(text: str, number: Number) -> bool:
    """Whether a number is part of an expression (5π, 3 * 6, 6:30, log 5), or one of several (5 or 7)."""
    before = text[max(number.start - 8, 0) : number.start]
    return bool(_GOES_ON.match(text, number.unit_end) or _FUNCTION.search(before))


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
    value *= scale
    if match["percent"]:
        return Number(
            start=start,
            end=match.end(),
            readings=(value, value / 100),
            kinds=(("percent", Fraction(1)),),
            unit_end=match.end(),
        )
    unit = unit_at(text, match.end())
    kinds = unit.kinds if unit else currency(match["currency"] or "")
    end = unit.end if unit else match.end()
    return Number(start=start, end=match.end(), readings=(value,), kinds=kinds, unit_end=end)


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
