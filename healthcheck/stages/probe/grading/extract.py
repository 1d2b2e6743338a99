"""Finds the final answer in a model's text by a cascade of tiers, and records which tier matched.

boxed > #### > "answer is"/答案是 (strict: the answer is marked) > a number in bold > the last number (lenient).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.stages.probe.grading.numbers import Number, normalise
from healthcheck.stages.probe.grading.quantities import quantities, unit_end
from healthcheck.stages.probe.grading.statements import ENDS_IN_A_QUESTION, Statement, statements

_LEAD = re.compile(
    r"[\s:：*_\"'“”‘’(\[{=~≈$]*"
    r"(?:(?:approximately|about|around|exactly|simply|just|therefore|thus|equal to|大约|约为|约|共|为|是)\s*)*"
    r"(?:(?:US\$|[A-Za-z]|RMB)\s*=\s*)?[\s\"'“”(\[{$]*",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"=|\bwhich\s+(?:equals|simplifies\s+to|gives|makes|comes\s+to|is(?!\s+\S+\s+(?:more|less|times|fewer)\b))|等于"
)
_DENIED = re.compile(
    r"(?:\b(?:not|nor(?:\s+is\s+it)?|cannot\s+be|rather\s+than|instead\s+of)|n['’]t(?:\s+be)?|而?不是|并非|而非|不可能是)\s*[-$]?\d[\d,.]*(?<![,.])",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"(?i)\bor\b|或|还是|也可能|要么|\b(?:and|but|while)\s+if\b|\botherwise\b|否则|[而但；;]\s*如果|;\s*if\b"
)
_START = re.compile(
    r"(?i)\bfrom\s+[$€£¥]?\d[\d,.]*(?<![,.])|[，,]\s*比[^，。\n]{1,12}[多少大小高低快慢贵]了?\s*\d[\d,.]*(?<![,.])"
)
"""The start of a change, or the base of a comparison: "up from 20", 比原来多10."""
_DATE = re.compile(
    r"(?i)\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4}"
)
SENTENCE_END = re.compile(r"\n|[。！？!?]|\.(?=\s)")
BOLD = re.compile(r"\*\*([^*\n]{1,120})\*\*")
_DIGITS = re.compile(r"\d+")
MOST_NUMBERS = 200
"""From the end of the text, if its last number is wanted: reading each takes time."""
_BOLD_NUMBER = re.compile(
    r"(?!\d{1,2}[.)]\s)(?:[A-Za-z]\s*=(?=[\s$]*-?\d))?\s*[-−$€£¥(]*\s*\d[\d,.]*(?:/\d+)?\s*(?:%|[^\d\s.:：]|\s[^\d.]|$)"
)
_BOLD_SENTENCE = re.compile(r"[^:：\d]{1,90}\b(?:is|are|was)[\s$€£¥]*-?\d[\d,.]*[^\d]*$")
_REMARK = re.compile(
    r"[(（](?=[^()（）]*?[A-Za-z\u4e00-\u9fff]{2})[^()（）]*[)）]|\[\d{1,2}\]"
    r"|(?:(?<=[A-Za-z\d%]\s)|(?<=[\u4e00-\u9fff]))\(\s?\$?\d[\d.,]*(?:\s?[-+*/÷]\s?\$?\d[\d.,]*)+\s?\)(?!\s?[-+*/=^])"
)
_CHECK = re.compile(
    r"(?:\b(?:to|let\s+me|let\s+us|let['’]s|we|now|and)\s+){0,3}\b(?:(?:double|cross)-?)?(?:check(?:ing)?|verif(?:y|ying|ication)|indeed|because|since)\b|验算|检验|验证|因为",
    re.IGNORECASE,
)
_OPEN_ENDS = ("=", "≈")
_CHECK_WORDS = re.compile(
    r"(?:check|double|cross|verif|indeed|because|since|this|that|the|and|plus|minus|times|equals?|which|match|correct|right|equation|true|holds?"
    r"|works?|requir|expect|given|original|both|sides?|substitut|back|into|with|get|gives?)[a-z]*"
    r"|[验算检证因为正确等于加减乘除以代入得符合题意成立原方程]",
    re.IGNORECASE,
)
_OTHER_WORD = re.compile(r"[A-Za-z]{3,}|\bso\b|[\u4e00-\u9fff]")
_CONCLUDES = re.compile(
    r"=|\b(?:is|are|be|so|thus|therefore|hence|gives|takes|costs|has|have|gets|needs)\b|所以|因此|是|为",
    re.IGNORECASE,
)
_PART = re.compile(r"\s*[-+*/^]")
_VARIABLE = re.compile(r"\s?[a-z]\b(?!['’])(?=\s*[-+*/^=)]|\s*$)")

_GOES_ON = re.compile(r"[\u4e00-\u9fff]{0,9}[行走重共是为有得到花卖][\u4e00-\u9fff]{0,9}")
"""From the condition to the result in one clause: 6小时行360千米."""
_FACTOR = re.compile(r"\s?(?:\\?pi\b|π|[ixyz]\b(?!['’]|\.\w))|:\d")
_FUNCTION = re.compile(r"\b(?:log|ln|sin|cos|tan)\s*\(?$")
"""The context that makes a number part of a larger expression: 5π, 18x, 5:30, log 5. "18 m" is 18."""


class Unclear:
    """A text whose numbers are not a result: it offers several, or the number is part of an expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An extracted answer: the tier that matched, the text for votes, and the number if it is one."""

    tier: str
    text: str
    number: Number | None = None


def number(answer: str) -> Found | None:
    """The final number of an answer (of `reasoning.final_text`); None if there is none or several."""
    stated = statements(answer)
    whole = not stated.taken_back
    for statement in stated.marked:
        found = _stated(statement)
        if isinstance(found, Unclear):
            return None
        if found:
            return Found(tier=statement.tier, text=found.canonical, number=found)
    for tier, candidates in (
        ("emphasis", _bold(answer if whole else "")),
        ("last", _last(stated.rest)),
    ):
        found = next((candidate for candidate in candidates if candidate), None)
        if isinstance(found, Unclear):
            return None
        if found:
            return Found(tier=tier, text=found.canonical, number=found)
    return None


def _stated(statement: Statement) -> Number | Unclear | None:
    if statement.corrects:
        return _of_correction(statement.text)
    return _of_clause(statement.text) if statement.tier == "cue" else _in_box(statement.text)


def _in_box(content: str) -> Number | Unclear | None:
    """The number of a short text without other statements; in an equation, the one after the last "="."""
    text = normalise(content)
    found = quantities(text)
    if _several(text, found):
        return Unclear()
    if not found:
        return None
    after = text.rfind("=")
    chosen = next((one for one in found if one.start > after), found[0]) if after >= 0 else found[0]
    part = (
        _PART.match(text, unit_end(text, chosen.end))
        if chosen.amounts
        else _VARIABLE.match(text, chosen.end)
    )
    return Unclear() if part else chosen


def _of_clause(clause: str) -> Number | Unclear | None:
    """The number that a clause states: the one after its last "=", the one at its start, or its last."""
    clause = normalise(clause)
    clause = _DENIED.sub(" ", clause)
    plain = _REMARK.sub(" ", clause)
    clause = plain if quantities(plain) and not _restated(clause) else clause
    found = quantities(clause)
    if not found:
        return None
    if _several(clause, found):
        return Unclear()
    results = list(_RESULT.finditer(clause))
    if results and (after := [one for one in found if one.start >= results[-1].end()]):
        return _alone(clause, after[0])
    lead, first = _LEAD.match(clause), found[0]
    begins = lead and first.start <= lead.end()
    on = len(found) > 1 and found[1].amounts and unit_end(clause, first.end)
    if on and _GOES_ON.fullmatch(clause, on, found[1].start):
        begins = False
    return _alone(clause, first if begins else found[-1])


def _alone(text: str, found: Number) -> Number | Unclear:
    """The number, unless it is part of a larger expression."""
    part = _FACTOR.match(text, found.end) or _FUNCTION.search(text[: found.start])
    return Unclear() if part else found


def _of_correction(clause: str) -> Number | Unclear | None:
    """The number at the start of a clause: "Oops, 7." but not "Wait, should I count the red one?"."""
    found = _of_clause(clause)
    lead = _LEAD.match(normalise(clause))
    return found if isinstance(found, Number) and lead and found.start <= lead.end() else None


def _restated(clause: str) -> bool:
    """Whether the text in brackets is the same quantity in another unit."""
    return len(quantities(clause)) == len(quantities(_REMARK.sub(" ", clause)))


def _several(text: str, found: tuple[Number, ...]) -> bool:
    """Whether a text offers different numbers: "5 or 7", "between 5 and 7", "5, 6, and 7"."""
    if len(found) < 2:
        return False
    if _DATE.search(text):
        return False
    for first, second in itertools.pairwise(found):
        if _SEVERAL.search(text[first.end : second.start]) and not first.equals(second):
            return True
    gaps = [text[first.end : second.start].strip() for first, second in itertools.pairwise(found)]
    if all(re.fullmatch(r"[,，、]?\s*(?:and|和|与)?", gap) and gap for gap in gaps):
        return not any(first.equals(second) for first, second in itertools.pairwise(found))
    opening = re.search(r"(?i)\bbetween\b", text[: found[0].start])
    return (
        bool(opening)
        and re.fullmatch(r"\W*and\W*", text[found[0].end : found[1].start], re.IGNORECASE)
        is not None
    )


def _bold(answer: str) -> Iterator[Number | Unclear | None]:
    for found in reversed([*BOLD.finditer(answer)]):
        last = not _DIGITS.search(answer, found.end())
        if _BOLD_NUMBER.match(found[1]) or (
            last and (_BOLD_SENTENCE.match(found[1]) or _is_spelled(found[1]))
        ):
            yield _in_box(found[1])


def _is_spelled(content: str) -> bool:
    """Whether a text is a number in words, perhaps with its unit: "one third", "eight hours"."""
    text = normalise(content).strip()
    found = quantities(text)
    return len(found) == 1 and found[0].start == 0 and unit_end(text, found[0].end) == len(text)


def _without_check(text: str) -> str:
    """The text up to a check of its result: one equation with the result, and no word or number after it."""
    check = _CHECK.search(text)
    if not check:
        return text
    before, after = text[: check.start()], text[check.start() :]
    ends = [end.end() for end in SENTENCE_END.finditer(before, 0, len(before.rstrip()) - 1)]
    sentence = before[ends[-1] if ends else 0 :]
    stated, result = quantities(sentence), after.rpartition("=")[2]
    clear = len(stated) == 1 or (stated and "=" in sentence)
    plain = (
        after.count("=") == 1
        and len(quantities(result)) == 1
        and not _OTHER_WORD.search(_CHECK_WORDS.sub("", after))
    )
    checked = clear and plain and _CONCLUDES.search(sentence)
    return before if checked and any(one.equals(stated[-1]) for one in quantities(after)) else text


def _last(answer: str) -> Iterator[Number | Unclear | None]:
    text = _DENIED.sub(" ", normalise(answer))
    places = [0, *(digits.start() for digits in _DIGITS.finditer(text))][-MOST_NUMBERS:]
    text = text[places[0] :]
    if text.rstrip().endswith(_OPEN_ENDS):
        yield Unclear()
    changed = _START.sub(" ", text)
    text = _without_check(changed if changed != text and quantities(changed) else text)
    for candidate in dict.fromkeys((_REMARK.sub(" ", text), text)):
        found = quantities(candidate)
        ends = (
            [match.end() for match in SENTENCE_END.finditer(candidate, 0, found[-1].start)]
            if found
            else []
        )
        sentence = candidate[ends[-1] if ends else 0 :]
        if found and (
            ENDS_IN_A_QUESTION.search(sentence) or _several(sentence, quantities(sentence))
        ):
            yield Unclear()
        yield _alone(candidate, found[-1]) if found else None
