"""Problems from a file that someone else wrote: read defensively, refused with the line that is wrong.

GSM8K: JSON lines of {"question", "answer"}, the answer a rationale that ends in "#### 18".
qa:    {"question", "answer"} as JSON lines or CSV; the answer a number or exact words.
mcq:   {"question", "A", "B", …, "answer"} as JSON lines or CSV; the answer a letter.
The last two are AISBench's custom data sets.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from healthcheck import json_text
from healthcheck.errors import UsageError
from healthcheck.files import read_bounded
from healthcheck.json_text import JsonError
from healthcheck.probe.problems.problem import AnswerKind, Problem

MAX_BYTES = 2**28
MAX_ROWS = 1_000_000
MAX_FIELD_CHARS = 1_000_000
_LETTERS = "ABCDEFGHIJ"
_GOLD = "####"


def load(path: Path, count: int) -> tuple[Problem, ...]:
    """The first `count` different problems of a file; all of them where it has fewer.

    Raises:
        UsageError: it cannot be read, is empty, or a row of it is not a problem; the message names the row.
    """
    try:
        text = read_bounded(path, MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error
    found: dict[str, Problem] = {}
    for place, row in _rows(path, text):
        if len(found) >= count:
            break
        problem = _problem(path, place, row)
        found.setdefault(problem.question, problem)
    if not found:
        raise UsageError(f"{path} has no problems")
    return tuple(found.values())


def _rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Each row with its line number."""
    if path.suffix.lower() == ".csv":
        yield from _csv_rows(path, text)
        return
    for place, line in enumerate(text.split("\n"), 1):
        if place > MAX_ROWS:
            raise UsageError(f"{path} has more than {MAX_ROWS} rows")
        if not line.strip():
            continue
        try:
            row = json_text.load(line)
        except JsonError as error:
            raise UsageError(f"{path}:{place}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise UsageError(f"{path}:{place}: not a JSON object but {line[:80]!r}")
        yield place, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    csv.field_size_limit(MAX_FIELD_CHARS)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield reader.line_num, {str(key).strip(): value for key, value in row.items() if key is not None}
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: not CSV: {error}") from error


def _problem(path: Path, place: int, row: Mapping[str, object]) -> Problem:
    question, answer = _text(path, place, row, "question"), _text(path, place, row, "answer")
    letters = "".join(letter for letter in _LETTERS if str(row.get(letter) or "").strip())
    identity = f"{path.stem}/{place}"
    if letters and answer.strip().upper() in set(letters):
        options = "\n".join(f"{letter}. {row[letter]}" for letter in letters)
        return Problem(
            id=identity, family="mcq", tier="", kind=AnswerKind.CHOICE, question=f"{question}\n{options}",
            answer=answer.strip().upper(), letters=letters,
        )  # fmt: skip
    if letters:
        raise UsageError(f"{path}:{place}: the answer {answer[:80]!r} is none of the letters {letters}")
    _, mark, final = answer.rpartition(_GOLD)
    if mark and not final.strip():
        raise UsageError(f"{path}:{place}: nothing follows the last {_GOLD} of the answer")
    return Problem(
        id=identity, family="gsm8k" if mark else "qa", tier="", question=question,
        answer=(final if mark else answer).strip(), worked=answer if mark else "",
    )  # fmt: skip


def _text(path: Path, place: int, row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        there = ", ".join(map(str, row)) or "nothing"
        raise UsageError(f"{path}:{place}: no {name!r} in this row (it has {there[:200]})")
    return str(value)
