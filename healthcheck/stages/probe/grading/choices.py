"""The letter of an answer to a multiple-choice question."""

from __future__ import annotations

import re

from healthcheck.stages.probe.grading.numbers import is_denied

_STATED = re.compile(
    r"[\s*_$\"'“(\[{（【:：]{0,9}(?:\\(?:text|textbf|mathrm|mathbf)\s?\{\s?\(?)?"
    r"(?:(?i:option|choice)\s|选项)?\s?[(\[（]?"
    r"(?:([A-J])(?![A-Za-z0-9'’])|([a-j])(?=[)\]）.:：]|\W{0,9}$))"
    r"(?!\W{0,3}(?:or|and|或|和|与|/|&|,|，|、)\W{0,3}(?:or\s|and\s)?[(\[]?[A-J](?![A-Za-z'’]))"
)
"""At the beginning of a statement: one letter, and not "A or B"."""
_LETTER = re.compile(r"(?<![A-Za-z0-9'’\\])([A-J])(?![A-Za-z0-9'’])")
_ARTICLE = re.compile(r"\s+(?!(?:is|or|and|because|since|as|was)\b)[a-z]")
"""After "A" or "I", if these are words and no letters."""
_JOINED = re.compile(r"\W*(?:or|and|或|和|与|、)?\W*", re.IGNORECASE)
_ALONE = re.compile(r"^\W*([A-J])\W*$", re.MULTILINE)
_LISTED = re.compile(r"^\W*[A-J][.):：）].*$", re.MULTILINE)
"""A line that begins with the mark of an option."""


def stated_letter(statement: str, letters: str) -> str:
    """The one letter with which a normalised statement begins; "" without one."""
    match = _STATED.match(statement)
    if not match or _is_word(match[1] or "", statement, match.end()):
        return ""
    letter = (match[1] or match[2]).upper()
    return letter if letter in letters else ""


def last_letter(text: str, letters: str) -> str:
    """The last letter of a normalised text that stands alone; "" if it is denied, or one of several.

    Another letter on a line of its own makes it one of several. The lines of a list of options are not read.
    """
    if len(_LISTED.findall(text)) > 1:
        text = _LISTED.sub("", text)
    found = [
        match
        for match in _LETTER.finditer(text)
        if match[1] in letters and not _is_word(match[1], text, match.end())
    ]
    if not found or is_denied(text, found[-1].start()):
        return ""
    last = found[-1]
    joined = len(found) > 1 and _JOINED.fullmatch(text, found[-2].end(), last.start())
    others = {match[1] for match in _ALONE.finditer(text)} & set(letters)
    if joined:
        others.add(found[-2][1])
    return last[1] if others <= {last[1]} else ""


def _is_word(letter: str, text: str, end: int) -> bool:
    """Whether an A or I is the English article or pronoun: a lower-case word follows it."""
    return letter in {"A", "I"} and _ARTICLE.match(text, end) is not None
