"""The kind of answer that a data set expects: a number, an expression, or words. Golds are never altered."""

from __future__ import annotations

import re

from healthcheck.stages.probe.grading.numbers import normalise, numbers
from healthcheck.stages.probe.problems import AnswerKind

MAX_CHARS = 2000
_BEFORE = re.compile(r"\s*(?:[A-Za-z]\s*=\s*)?\$?\s*")
_AFTER = re.compile(
    r"\s*(?:°\s*[CF]?|\$)?(?:\s+(?:[a-z]{1,20}|USD|RMB|CNY|EUR|GBP|JPY|K?N|[kM]?(?:W|V|Hz|Pa|B|J)|°?[CFK])(?:\^?[23])?){0,3}"
    r"|\s*[\u4e00-\u9fff]{1,6}"
)
_UNIT_WITHOUT_SPACE = re.compile(r"[\s/^23a-z]{0,12}")
_MONTH = re.compile(r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b")
_NUMBERED = re.compile(r"[\d\s]+(?:[-–—.:：/][\d\s]+)+")
"""Dates, times, ratios, scores and telephone numbers."""
_FRACTION = re.compile(r"\s*(?:\d+\s+)?\d+\s*/\s*\d+\s*")
_TEXT_COMMAND = re.compile(
    r"\\(?:text|textbf|mathrm|mathbf|mbox|textit)\s*\{[^{}]*\}|\\[$%#_& ,;!]"
)
_COMMAND = re.compile(r"\\[A-Za-z]{2,}|\\[{}]")
_FUNCTIONS = re.compile(
    r"(?<![A-Za-z])(?:sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt|pi|max|min|or|and|arcsin|arccos|arctan)\b"
)
_PRODUCT = re.compile(r"(?<=\d)[a-z]{2,3}(?![a-z])")
_LONG_WORD = re.compile(r"[A-Za-z]{2,}|[\u3400-\u9fff]")
_OPERATION = re.compile(
    r"[\dA-Za-z)}\]]\s*(?:\^|[=+*/<>≤≥≠∪∩±×÷·−-])\s*[-−±√({\[]?\s*[\dA-Za-zπ∞√]|[√π∞²³]|\d\s*[xyzin]\b|[([{].*,.*[)\]}]"
    r"|-?\d[\d./]*\s*,\s*-?\d"
)


def kind_of(gold: str) -> AnswerKind:
    """How to grade an expected answer: by value, as an expression, or in words; long texts are graded as words."""
    if len(gold) > MAX_CHARS:
        return AnswerKind.PHRASE
    if _is_number(gold):
        return AnswerKind.NUMBER
    return AnswerKind.EXPRESSION if _is_expression(gold) else AnswerKind.PHRASE


def _is_number(gold: str) -> bool:
    """Whether the gold is one quantity, with at most a unit."""
    text = normalise(gold).strip()
    found = numbers(text)
    if len(found) != 1 or (
        _NUMBERED.fullmatch(text) and not _FRACTION.fullmatch(text) and not _is_decimal(text)
    ):
        return False
    (number,) = found
    before, after = text[: number.start], text[number.unit_end :]
    if _MONTH.search(after) or re.search(r"\d", before):
        return False
    adjoining = number.unit_end > number.end and _UNIT_WITHOUT_SPACE.fullmatch(after)
    return bool(_BEFORE.fullmatch(before) and (adjoining or _AFTER.fullmatch(after.rstrip(".$"))))


def _is_decimal(text: str) -> bool:
    return re.fullmatch(r"\s*\d[\d\s]*(?:\.\d[\d\s]*)+", text) is not None


def _is_expression(gold: str) -> bool:
    text = _TEXT_COMMAND.sub(" ", gold.strip().strip("$"))
    if _COMMAND.search(text):
        return True
    if _NUMBERED.fullmatch(text):
        return bool(_FRACTION.fullmatch(text))
    if _LONG_WORD.search(_FUNCTIONS.sub(" ", _PRODUCT.sub("x", text))) or not re.search(
        r"[\dπ√∞^=+]", text
    ):
        return False
    return bool(_OPERATION.search(text))
