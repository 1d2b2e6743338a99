"""Answers in words: a name, a date, a ratio, yes or no. Ignores case, punctuation and surrounding words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from healthcheck.stages.probe.grading.extract import BOLD, Found
from healthcheck.stages.probe.grading.numbers import normalise
from healthcheck.stages.probe.grading.statements import ENDS_IN_A_QUESTION, Statement, statements

_AROUND = " \t\n\"'“”‘’`*_$.。!！,，;；:：?？()（）[]{}<>「」『』、"
_HEAD_END = re.compile(
    r"\s*(?:[,，;；(（—。]|\s[-–]\s|\.(?=\s|$)|!(?=\s|$)|</answer>|\}\s*$"
    r"|\s(?:which|because|since|as|not|rather|instead|in|at)\b|而不|因为|，)",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"(?:\b(?:is|are|was|were|be|called|named|at|on|in|by)\b|['’]s\b|[=:：]|是|为|叫|位于)\s*(?P<said>.+)$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|never|cannot)\b|n['’]t\b|不|并非|没有", re.IGNORECASE)
_REMARK = re.compile(
    r"\b(?:let|check|that|this|it|is|was|are|i|we|me|should)\b|[\u3400-\u9fff]{7,}", re.IGNORECASE
)
_SENTENCE = re.compile(r"[\n.!?。！？]")
_LEADS_TO = re.compile(
    r"(?:\b(?:is|are|was|were|be|measures|equals)\b|[:：=]|是|为)[^;；,，A-Z\d]{0,20}$"
)
_FEW = 4
_LONGEST_LINE = 2000
_DENIED_TAIL = re.compile(r"\s*[,，;；]\s*(?:but\s+)?(?:而)?(?:not\b|不是|并非).*$", re.IGNORECASE)
_VERB = re.compile(
    r"\s(?:won|wins|(?:is|was|has)\s+(?:the|an?|one|located|known|called|correct|right|where|been)\b)",
    re.IGNORECASE,
)
_CHINESE_VERB = re.compile(r"(?:就|便)?[是为](?!\s*(?:错|不))[^，。]{2,}[。！]?$")
_YES_OR_NO = re.compile(r"\W*(?P<said>yes|no)\b\s*[,.!;:—–-]", re.IGNORECASE)
_OPPOSITE = {
    "yes": re.compile(r"\bno\b", re.IGNORECASE),
    "no": re.compile(r"\byes\b", re.IGNORECASE),
}
_PARAGRAPH = re.compile(r"\s*(?P<said>[^\n]+?)[ \t]*\n[ \t]*\n\s*(?P<rest>.+)", re.DOTALL)
_TURNING = re.compile(
    r"\b(?:but|however|wait|actually|no|instead|wrong|incorrect|or)\b|但|不过|不对|错|还是|或",
    re.IGNORECASE,
)
_DENYING_VERB = re.compile(
    r"\b(?:is|was|are|were)\s+(?:not|wrong|incorrect)\b|n['’]t\b|不是|不对", re.IGNORECASE
)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DATE = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({'|'.join(_MONTHS)})\b(?:,?\s+(\d{{4}})\b)?"
)
_ORDINAL = re.compile(
    rf"\b({'|'.join(_MONTHS)})\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}})\b)?"
)
_DATE_IN_DIGITS = re.compile(r"(?<!\d)(\d{4})(?:-(\d{2})-(\d{2})(?!\d)|年(\d{1,2})月(\d{1,2})日)")
_TIME = re.compile(
    r"(?<![\d:.])(?P<part>上午|早上|凌晨|下午|晚上)?\s?(?P<hour>[01]?\d|2[0-3])(?:[:点时]\s?(?P<minute>[0-5]\d)分?)?"
    r"(?:\s?(?P<half>[ap])(?:\.\s?m\b\.?|m\b))?(?![\d:])"
)
_PRINTS = re.compile(
    r"(?:\b(?:prints?|outputs?|displays?|returns?)\s|输出|打印|显示)\s*[:：]?\s*(?P<said>.+)$",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"[,，;；]\s*(?:(?:and\s+)?(?:so|thus|hence|therefore)\b|which\s+means|所以|因此|故)",
    re.IGNORECASE,
)
_FROM_A_TIME = re.compile(
    r"\b(?:after|before|later|earlier|past|to|or|not|if|between|from|until|hours?|minutes?|about)\b|n['’]t\b|后|前|不|或|如果|分钟|小时"
)
_CLOCK_TIME = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}(?![\d:])")
_SYNONYMS = {"对": "正确", "错": "错误"}
_HALF = {"morning": "am", "afternoon": "pm", "evening": "pm"}
_ACCENT = re.compile(r"(?<=[a-z])[\u0300-\u0302\u0308\u0327]")
"""Grave, acute, circumflex, diaeresis and cedilla; models leave them out. A tilde makes another letter."""
_PLACE = re.compile(r"[\u4e00-\u9fff]+")
_PLACES = "省市县区"
_RATIO = re.compile(r"(?<=\d)\s*(?:[:：∶]|\bto\b)\s*(?=\d)")


def said(answer: str, expected: str) -> Found | None:
    """The words that an answer states, in canonical spelling; None if it states nothing.

    The expected text decides only how much of a sentence is taken: if paris is expected, only paris is taken from
    "the answer is Paris, the capital" and from "The capital of France is Paris."
    """
    wanted = same(expected)
    stated = statements(answer)
    for statement in stated.marked:
        if statement.corrects and not _is_name(statement.text):
            continue
        if text := _stated(statement, wanted):
            return Found(tier=statement.tier, text=text)
    for tier, candidates in (
        ("exact", _whole(stated.rest)),
        ("last line", _sentences(stated.rest)),
    ):
        if wanted and any(_place(same(one), wanted) == wanted for one in candidates):
            return Found(tier=tier, text=wanted)
    if wanted and _place(_in_bold(answer), wanted) == wanted:
        return Found(tier="bold", text=wanted)
    whole = same(stated.rest)
    return Found(tier="exact", text=whole[:200]) if whole else None


def _in_bold(text: str) -> str:
    """The only words in bold, where a verb leads to them and nothing beside or behind them denies or turns."""
    found = [*BOLD.finditer(text)]
    if len({each[1] for each in found}) != 1 or ENDS_IN_A_QUESTION.search(text):
        return ""
    last = found[-1]
    sentence, behind = _SENTENCE.split(text[: last.start()])[-1], text[last.end() :]
    turned = any(each.search(part) for each in (_DENIED, _TURNING) for part in (sentence, behind))
    return same(last[1]) if _LEADS_TO.search(sentence) and not turned else ""


def _is_name(text: str) -> bool:
    """Whether the text after "Wait," can be an answer: a few words without a remark."""
    return len(text.split()) <= _FEW and not _REMARK.search(text)


def same(text: str) -> str:
    """A canonical spelling: ignores case, quotes, markup and articles, and the notation of dates and ratios."""
    text = re.sub(r"_\{(\d{1,2})\}", r"_\1", text.replace("{:}", ":"))
    text = re.sub(r"(?<=[A-Za-z)])_(?!16)(\d{1,2})(?!\d)", r"\1", text)
    text = re.sub(
        r"(?<=\d)(?:_\{(\d{1,2})\}|([₀-₉]{1,2}))", lambda base: f"_{base[1] or base[2]}", text
    )
    plain = unicodedata.normalize("NFKC", normalise(text)).casefold()
    plain = re.sub(r"\s+", " ", plain).strip(_AROUND)
    plain = re.sub(r"^(?:the|an?)\s+(?=\S)", "", plain)
    plain = re.sub(r"(?<=[\da-f]) ?\(?(?:in )?base (\d+)\)?$", r"_\1", plain)
    plain = re.sub(r"^0x([\da-f]+)$", r"\1_16", plain)
    plain = re.sub(r"\b12(?::00)?\s?(?:noon|midday)\b|^(?:at )?noon$", "12:00", plain)
    plain = re.sub(r"^(是|对|不是|不对|正确|错误?)的$", r"\1", plain)
    plain = _SYNONYMS.get(plain, plain)
    plain = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", plain)))
    plain = re.sub(r"\b(\d{1,2})h(\d{2})\b", r"\1:\2", plain)
    plain = re.sub(
        r"\b(\d{1,2})(:\d\d)?(?: o['’]clock)?,? in the (morning|afternoon|evening)\b",
        lambda found: f"{found[1]}{found[2] or ':00'} {_HALF[found[3]]}",
        plain,
    )
    plain = _DATE_IN_DIGITS.sub(_date, plain)
    plain = _RATIO.sub(":", plain)
    plain = _TIME.sub(_time, plain)
    plain = _DATE.sub(lambda found: f"{found[2]} {int(found[1])} {found[3] or ''}".rstrip(), plain)
    return _ORDINAL.sub(
        lambda found: f"{found[1]} {int(found[2])} {found[3] or ''}".rstrip(), plain
    )


def _time(found: re.Match[str]) -> str:
    """A time with its half of the day as one of 24 hours; without it, 3:30 stays as it is."""
    hour, after_noon = int(found["hour"]), found["half"] == "p" or found["part"] in {"下午", "晚上"}
    if (
        not (found["half"] or found["part"])
        or hour > 12
        or (found["part"] == "晚上" and hour == 12)
    ):
        return f"0{found.group()}" if found["hour"] == "0" and found["minute"] else found.group()
    return f"{hour % 12 + 12 * after_noon:02}:{found['minute'] or '00'}"


def _place(text: str, wanted: str) -> str:
    """The expected text if this is the same place with or without 市, 省, 县 or 区, or the same time of day."""
    if _CLOCK_TIME.fullmatch(wanted) and text.lstrip("0") == wanted.lstrip("0"):
        return wanted
    short, long = sorted((text, wanted), key=len)
    alike = (
        len(short) > 1 and long[:-1] == short and long[-1] in _PLACES and short[-1] not in _PLACES
    )
    return wanted if alike and _PLACE.fullmatch(long) else text


def _date(found: re.Match[str]) -> str:
    month = int(found[2] or found[4])
    if not 1 <= month <= len(_MONTHS):
        return found.group()
    return f"{_MONTHS[month - 1]} {int(found[3] or found[5])} {found[1]}"


def _stated(statement: Statement, wanted: str) -> str:
    """The text of a marked statement: all of it, the part before a comma or bracket, or the part in brackets."""
    text = statement.text.strip()
    if not same(text):
        return ""
    bracketed = [same(part) for part in re.findall(r"[(（]([^()（）]+)[)）]", text)]
    candidates = [same(text), *_heads(text), *bracketed, *_clock(text)]
    return wanted if wanted in (_place(one, wanted) for one in candidates) else candidates[0]


def _clock(text: str) -> Iterator[str]:
    """The time of a text that names one, and counts nothing from it."""
    times = set(_CLOCK_TIME.findall(plain := same(text)))
    if len(times) == 1 and not _FROM_A_TIME.search(plain):
        yield times.pop()


def _heads(text: str) -> Iterator[str]:
    """The beginnings of a text, each up to a possible remark, the longest first."""
    for end in reversed([match.start() for match in _HEAD_END.finditer(text)][:20]):
        yield same(text[:end])


def _whole(answer: str) -> Iterator[str]:
    """The whole answer, its last line, and its first sentence up to a remark."""
    lines = [line for line in answer.splitlines() if line.strip()]
    if not lines or ENDS_IN_A_QUESTION.search(lines[-1]):
        return
    yield answer
    yield lines[-1]
    yield lines[-1].rpartition(":")[2]
    yield from _opening(answer)
    first = lines[0][:_LONGEST_LINE]
    if _DENYING_VERB.search(_DENIED_TAIL.sub("", first)):
        return
    yield from _heads(first)
    if verb := _VERB.search(first) or (len(lines) == 1 and _CHINESE_VERB.search(first)):
        yield first[: verb.start()]


def _opening(answer: str) -> Iterator[str]:
    """A yes or no before a remark, and a first paragraph before an explanation that is not another answer."""
    said = _YES_OR_NO.match(answer)
    if said and not _OPPOSITE[said["said"].lower()].search(answer):
        yield said["said"]
    opening = _PARAGRAPH.match(answer[:_LONGEST_LINE])
    if opening and _explains(opening["rest"]):
        yield opening["said"]


def _explains(rest: str) -> bool:
    words = len(rest.split()) + len(re.findall(r"[\u3400-\u9fff]", rest)) // 2
    return words > _FEW and not _TURNING.search(rest)


def _sentences(answer: str) -> Iterator[str]:
    """The result at the end of the last sentence."""
    parts = [part for part in re.split(r"\n|(?<=[。！？])|(?<=[.!?])\s", answer) if part.strip()]
    last = _DENIED_TAIL.sub("", parts[-1][-_LONGEST_LINE:]) if parts else ""
    last = _CONCLUSION.split(last)[-1]
    if ENDS_IN_A_QUESTION.search(last) or _DENIED.search(last):
        return
    yield from _clock(last)
    printed = list(_PRINTS.finditer(answer)) if answer.count("\n") == 0 else []
    if len(printed) == 1 and (match := _PRINTS.search(last)):
        yield match["said"]
    place = 0
    for _ in range(20):
        match = _STATES.search(last, place)
        if not match:
            return
        yield match["said"]
        yield from _heads(match["said"])
        place = match.start("said")
