"""Reads the rows of a user's file: JSON lines, a JSON array, or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from healthcheck.errors import UsageError
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

_MMLU = ("question", "A", "B", "C", "D", "answer")
"""The columns of MMLU's CSV files, which have no header."""
_T = TypeVar("_T")
MAX_ROWS = 1_000_000
_MAX_VALUES = 5_000_000
MAX_FIELD_CHARS = 1_000_000


def rows_of(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Each row with its line number, or with its place in a JSON array.

    Raises:
        UsageError: a row cannot be read, or there are too many; the message names its number.
    """
    if path.suffix.lower() == ".csv":
        yield from _csv_rows(path, text)
        return
    for place, row in _json_rows(path, text):
        if place > MAX_ROWS:
            raise UsageError(
                msg("{path} has more than {max_rows} rows", path=path, max_rows=MAX_ROWS)
            )
        if not isinstance(row, dict):
            raise UsageError(
                msg(
                    "{path}:{place}: not a JSON object but {line}",
                    path=path,
                    place=place,
                    line=repr(json.dumps(row)[:80]),
                )
            )
        yield place, row


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, object]]:
    """Each row of JSON lines, or each element of an array, with its number."""
    if text.lstrip()[:1] == "[":
        yield from enumerate(_parsed(str(path), text, list[object]), 1)
        return
    for place, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield place, _parsed(f"{path}:{place}", line, object)


def _parsed(place: str, text: str, shape: type[_T]) -> _T:
    try:
        return json_text.load_few(text.encode("utf-8", "surrogatepass"), shape, _MAX_VALUES)
    except JsonError as error:
        raise UsageError(msg("{place}: not JSON: {error}", place=place, error=error)) from error


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    csv.field_size_limit(MAX_FIELD_CHARS)
    lines = io.StringIO(text, newline="")
    reader = csv.DictReader(lines, strict=True)
    try:
        if _is_problem(reader.fieldnames or ()):
            lines.seek(0)
            reader = csv.DictReader(lines, _MMLU, strict=True)
        for row in reader:
            yield (
                reader.line_num,
                {str(key).strip(): value for key, value in row.items() if key is not None},
            )
    except csv.Error as error:
        raise UsageError(
            msg(
                "{path}:{line_num}: not CSV: {error}",
                path=path,
                line_num=reader.line_num,
                error=error,
            )
        ) from error


def _is_problem(first: Sequence[str]) -> bool:
    """Whether the first row of a CSV file is a problem of MMLU, and no header."""
    named = {cell.strip().lower() for cell in first} & {"question", "answer"}
    return len(first) == len(_MMLU) and first[-1].strip() in _MMLU[1:5] and not named
