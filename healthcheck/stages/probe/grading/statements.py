"""Finds the statements of an answer: the texts that follow the marks of its form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_MARKS = 20
MAX_CHARS = 1000
"""A longer statement is cut."""
_TAKEN_BACK = re.compile(
    r"(?:^|[.!?,;:—–\n)])\s{0,3}(?:(?:oh|but|hmm+),?\s)?"
    r"(?:wait|actually|no|oops|sorry|correction)\b(?!\s\d)"
    r"|(?:^|[。！？，；\n）])\s{0,3}(?:不对|更正|纠正|抱歉|等等|其实)",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"(?:[?？]|吗。?)\s*$")
_SENTENCE_END = re.compile(r"[.?](?=\s|$)|[。？]")
_GAP = re.compile(r"[ \t:：]{0,20}(?:\n[\s>]{0,20}(?:[-*•]\s)?)?")
"""Between a mark and its statement, which may begin on the next line."""
_PART_END = re.compile(r"\n|[。！？]|[.!?](?=\s)|\}(?=\s*\$|\W|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What follows a mark.

    Attributes:
        text: the content of the box, or the rest of the sentence.
        line: the content of the box, or the rest of the line.
        after: the answer after the text.
        boxed: whether it is the content of a box.
    """

    text: str
    line: str
    after: str
    boxed: bool

    @property
    def taken_back(self) -> bool:
        """Whether the answer goes on with "Wait", "Actually" or 不对, so that it has no final statement."""
        return _TAKEN_BACK.search(self.after) is not None


def statements(answer: str, marks: re.Pattern[str]) -> Iterator[Statement]:
    """The statements after the marks, the last first. `answer` has no emphasis; a box ends its mark with "{"."""
    for mark in reversed([*marks.finditer(answer)][-MOST_MARKS:]):
        yield _in_box(answer, mark) if mark.group().endswith("{") else _in_line(answer, mark)


def _in_box(answer: str, mark: re.Match[str]) -> Statement:
    rest = answer[mark.end() :]
    text = _content(rest[:MAX_CHARS])
    return Statement(text=text, line=text, after=rest[len(text) + 1 :], boxed=True)


def _content(rest: str) -> str:
    """The text up to the brace that closes the box; an unclosed box ends with its line."""
    depth = 1
    for place, sign in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if not depth:
            return rest[:place]
    return rest.partition("\n")[0]


def _in_line(answer: str, mark: re.Match[str]) -> Statement:
    gap = _GAP.match(answer, mark.end())
    place = gap.end() if gap else mark.end()
    line = answer[place : place + MAX_CHARS].partition("\n")[0]
    end = _SENTENCE_END.search(line)
    text = line[: end.start()] if end else line
    return Statement(text=text, line=line, after=answer[place + len(text) :], boxed=False)


def ends_in_a_question(answer: str) -> bool:
    """Whether an answer ends in a question, so that its last number or letter states nothing."""
    return _QUESTION.search(answer) is not None


def without_emphasis(text: str) -> str:
    """The text without Markdown's emphasis and code signs; ** between numbers is a power."""
    text = re.sub(r"(?<=\d)\*\*(?=-?\d)", "^", text)
    return text.replace("**", "").replace("__", "").replace("`", "")


def whole_part(answer: str) -> str:
    """The complete part of an answer that was cut at max_tokens: up to its last sentence, line or closed brace.

    The number or word at the cut may be incomplete.
    """
    ends = [match.end() for match in _PART_END.finditer(answer)]
    return answer[: ends[-1]] if ends else ""
