"""Units of measure: one table of what each name measures and by which factor, and compounds of its rows.

A kind is a dimension with its exponent ("length1", "length1/time1"). Quantities of one kind convert; others differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

Kinds = tuple[tuple[str, Fraction], ...]
"""What a unit may measure, each with the factor to the smallest unit of that kind."""
_Meaning = tuple[str, int, int | Fraction]
_MILE, _HOUR, _DAY = 1_609_344 * 10**6, 3_600_000, 86_400_000
_METRE, _LITRE, _GRAM = 10**9, 10**24, 10**9
MONEY = frozenset({"USD", "EUR", "GBP", "CNY", "JPY", "HKD", "KRW", "INR", "RUB"})
_SPOON = 492_892_159_375 * 10**10

_SIMPLE: dict[tuple[str, int], dict[str, int | Fraction]] = {
    ("time", 1): {"ms|milliseconds?|毫秒": 1, "s|secs?|seconds?|秒钟?": 1000, "mins?|minutes?|分钟": 60_000,
    "h|hrs?|hours?|个?小时|时": _HOUR, "days?|天|日(?!元)": _DAY, "weeks?|周|个?星期": 7 * _DAY}, ("month", 1): {
    "months?|个月": 1, "years?|yrs?|年|岁": 12, "decades?": 120, "centur(?:y|ies)|世纪": 1200}, ("length", 1): {
    "nm|nanomet(?:er|re)s?|纳米": 1, "[uµμ]m|micromet(?:er|re)s?|microns?|微米": 1000,
    "mm|millimet(?:er|re)s?|毫米": 10**6, "cm|centimet(?:er|re)s?|厘米|公分": 10**7,
    "dm|decimet(?:er|re)s?|分米": 10**8, "m|met(?:er|re)s?|米|公尺": _METRE,
    "km|kms|kilomet(?:er|re)s?|千米|公里": 1000 * _METRE,
    r"in(?!\s+\w)|inch(?:es)?|英寸": 25_400_000, "ft|foot|feet|英尺": 304_800_000,
    "yd|yards?|码": 914_400_000, "mi|miles?|英里": _MILE, r"nautical\s+miles?|海里": 1852 * _METRE,
    "华?里(?!面)": 500 * _METRE}, ("length", 2): {
    "ha|hectares?|公顷": 10**4 * _METRE**2, "acres?|英亩": 40_468_564_224 * 10**11,
    "亩": Fraction(10**4 * _METRE**2, 15)}, ("length", 3): {
    "ml|millilit(?:er|re)s?|毫升|cc": _LITRE // 1000, "cl|centilit(?:er|re)s?": _LITRE // 100,
    "dl|decilit(?:er|re)s?": _LITRE // 10, "l|lit(?:er|re)s?|升|公升": _LITRE,
    "gal|gallons?|加仑": 768 * _SPOON, "qt|quarts?|夸脱": 192 * _SPOON, "pt|pints?|品脱": 96 * _SPOON,
    "cups?": 48 * _SPOON, r"fl\.?\s?oz|fluid\s+ounces?": 6 * _SPOON, "tbsps?|tablespoons?": 3 * _SPOON,
    "tsps?|teaspoons?": _SPOON}, ("mass", 1): {
    "[uµμ]g|mcg|micrograms?|微克": 1000, "mg|milligrams?|毫克": 10**6, "g|grams?|克": _GRAM,
    "kg|kgs|kilos?|kilograms?|千克|公斤": 1000 * _GRAM, "t|tons?|tonnes?|吨": 10**6 * _GRAM,
    "oz|ounces?|盎司": 28_349_523_125, "lbs?": 453_592_370_000, "stones?": 14 * 453_592_370_000,
    "市?斤": 500 * _GRAM, "两": 50 * _GRAM}, ("length1/time", 1): {
    "mph": Fraction(_MILE, _HOUR), "km?ph|kmh": Fraction(1000 * _METRE, _HOUR), "mps": Fraction(_METRE, 1000),
    "knots?|节": Fraction(1852 * _METRE, _HOUR)},
    ("USD", 1): {r"(?:US\s?|u\.s\.\s)?dollars?|USD|bucks?|美元|美金": 100, "美分": 1},
    ("EUR", 1): {"€|euros?|EUR|欧元": 100}, ("GBP", 1): {"£|GBP|英镑": 100, "pence|便士": 1},
    ("CNY", 1): {"分钱": 1, "角|毛钱?|jiao": 10, "元|块钱?|yuan|RMB|CNY|人民币": 100, "fen": 1},
    ("JPY", 1): {"yen|JPY|日元|円": 1}, ("HKD", 1): {"HKD|港[元币]": 1}, ("KRW", 1): {"won|KRW|韩元": 1},
    ("INR", 1): {"₹|rupees?|INR|卢比": 1}, ("RUB", 1): {"₽|rou?bles?|RUB|卢布": 1},
    ("celsius", 1): {r"°\s?C|℃|degrees?\s+(?:C|celsius|centigrade)|celsius|摄氏度|(?<=\s)(?-i:C)(?![+#])": 1},
    ("fahrenheit", 1): {r"°\s?F|℉|degrees?\s+(?:F|fahrenheit)|fahrenheit|华氏度|(?<=\s)(?-i:F)": 1},
    ("kelvin", 1): {"(?<=\\s)(?-i:K)|kelvins?|开尔文": 1}, ("radian", 1): {"rad|radians?|弧度": 1},
    ("bit", 1): {"bits?|比特": 1, "(?-i:[Kk]b)|kilobits?": 10**3, "(?-i:Mb)|megabits?": 10**6, "gigabits?": 10**9},
    ("bit1/time", 1): {"bps": Fraction(1, 1000), "kbps": 1, "mbps": 1000, "gbps": 10**6}, ("energy", 1): {
    "(?-i:J)|joules?|焦耳?": 1, "(?-i:kJ)|kilojoules?|千焦": 1000, "(?-i:Wh)|watt[\\s-]hours?": 3600,
    "kwh|kilowatt[\\s-]hours?|千瓦时": 3_600_000},
    ("calorie", 1): {"cal|calories?|卡": 1, "kcal|kilocalories?|千卡|大卡": 1000},
    ("power", 1): {"(?-i:W)|watts?|瓦特?": 1, "kw|kilowatts?|千瓦": 1000, "(?-i:MW)|megawatts?|兆瓦": 10**6},
    ("voltage", 1): {"(?-i:V)|volts?|伏特?": 1, "(?-i:kV)|kilovolts?": 1000},
    ("current", 1): {"amps?|amperes?|安培": 1},
    ("force", 1): {r"(?<=\s)(?-i:N)|newtons?|牛顿?": 1, "(?-i:kN)": 1000}, ("resistance", 1): {"Ω|ohms?|欧姆": 1},
    ("pressure", 1): {"(?-i:Pa)|pascals?|帕": 1, "(?-i:kPa)|千帕": 1000},
    ("frequency", 1): {"hz|hertz|赫兹?": 1, "khz": 1000, "mhz": 10**6, "ghz": 10**9}, ("point", 1): {"points?": 1},
}  # fmt: skip
_AMBIGUOUS: dict[str, tuple[_Meaning, ...]] = {
    "分(?![之米])": (("time", 1, 60_000), ("CNY", 1, 1), ("point", 1, 1)),
    "cents?|¢": (("USD", 1, 1), ("EUR", 1, 1)),
    "pounds?|磅": (("mass", 1, 453_592_370_000), ("GBP", 1, 100)),
    "°|degrees?|deg|度": (("angle", 1, 1), ("celsius", 1, 1), ("fahrenheit", 1, 1)),
    "[¥￥]": (("CNY", 1, 100), ("JPY", 1, 1)),
} | {
    names: (("byte", 1, 1000**power), ("binary byte", 1, 1024**power))
    for power, names in enumerate(
        ("bytes?|字节", "kb|kilobytes?|千字节", "mb|megabytes?|兆字节", "gb|gigabytes?", "tb|terabytes?")
    )
}  # fmt: skip
_NAMES = {names: ((*kind, factor),) for kind, row in _SIMPLE.items() for names, factor in row.items()} | _AMBIGUOUS
_MEANINGS: tuple[tuple[_Meaning, ...], ...] = tuple(_NAMES.values())
_NAME = re.compile("(?:" + "|".join(f"({names})" for names in _NAMES) + ")(?![A-Za-z])", re.IGNORECASE)
_POWER = re.compile(r"(?:(square|sq\b\.?|平方)|(cubic|cu\b\.?|立方))?\s?", re.IGNORECASE)
_EXPONENT = re.compile(
    r"(?:\s{0,2}\^(-?[1-9])(?!\d)|(?<=[A-Za-z])([23])(?![\w.])|\s(squared)\b|\s(cubed)\b)?", re.IGNORECASE
)
_BEFORE = re.compile(
    r"(?:\s{0,3}\$(?=\s{0,3}[A-Za-z°µμ\u4e00-\u9fff]))?(?:\s?of\s+an?\b)?[\s(-]{0,3}", re.IGNORECASE
)
"""Between a number and its unit: the end of a formula, "of a", a space, hyphen or bracket."""
_PER = re.compile(
    r"\s{0,3}(?:/\s?|(?:per|an?|each|every)\s+|每一?)|[\s*]{1,2}(?=[A-Za-z]{1,3}\s?\^-)", re.IGNORECASE
)
_PART = re.compile(r"\s*[\^/*]")
"""After a unit: part of an expression."""
_CURRENCY = re.compile(r"(\$|[€£¥￥₹₽]|\b(?:RMB|USD|CNY|EUR|GBP|JPY|INR|HKD))\s?-?\s?$", re.IGNORECASE)
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
        return Unit(tuple((f"{base}{power}", Fraction(factor)) for base, power, factor in above), end)
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
    return tuple((base, own * exponent, Fraction(factor) ** exponent) for base, own, factor in meanings), end


def _currency(text: str, place: int, before: int | None) -> tuple[tuple[_Meaning, ...], int] | None:
    """The currency whose sign stands before the digits of a number; a dollar sign may also open a formula."""
    sign = _CURRENCY.search(text[max(before - 5, 0) : before]) if before else None
    if sign is None or (sign[1] == "$" and _CLOSED.match(text, place)):
        return None
    found = _atom("USD" if sign[1] == "$" else sign[1], 0)
    return (found[0], place) if found else None


def _rate(above: _Meaning, below: _Meaning) -> tuple[str, Fraction]:
    """The kind and factor of a quotient; money and amounts for a day or longer are told apart, not converted."""
    base, power, factor = above
    divisor, exponent, by = below
    if base in MONEY or divisor == "month" or (divisor, by) in {("time", _DAY), ("time", 7 * _DAY)}:
        return f"{base}{power} per {divisor} {by}", Fraction(factor)
    return f"{base}{power}/{divisor}{abs(exponent)}", factor / Fraction(by) ** (1 if exponent > 0 else -1)


def alike(some: Kinds, others: Kinds) -> bool:
    """Whether two quantities share an amount: "5 dollars" is also "5 dollars per day", but not "5 cents"."""
    return any(
        amount == other and (kind == its or (_plain(kind) == _plain(its) and (" per " in kind) != (" per " in its)))
        for kind, amount in some
        for its, other in others
    )


def _plain(kind: str) -> str:
    return kind.partition(" per ")[0]
