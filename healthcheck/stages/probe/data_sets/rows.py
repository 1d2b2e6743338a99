"""Reads the rows of a user's file: JSON lines or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError

MAX_ROWS = 1_000_000
MAX_FIELD_CHARS = 1_000_000


def rows_of(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Each row with its line number.

    Raises:
        UsageError: a row cannot be read, or there are too many; the message names the line.
    """
    if path.suffix.lower() == ".csv":
        yield from _csv_rows(path, text)
        return
    for place, line in enumerate(text.split("\n"), 1):
        if place > MAX_ROWS:
            raise UsageError("{path} has more than {max_rows} rows", path, MAX_ROWS)
        if not line.strip():
            continue
        try:
            row = json_text.load(line)
        except JsonError as error:
            raise UsageError("{path}:{place}: not JSON: {error}", path, place, error) from error
        if not isinstance(row, dict):
            raise UsageError("{path}:{place}: not a JSON object but {line}", path, place, repr(line[:80]))
        yield place, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    csv.field_size_limit(MAX_FIELD_CHARS)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield reader.line_num, {str(key).strip(): value for key, value in row.items() if key is not None}
    except csv.Error as error:
        raise UsageError("{path}:{line_num}: not CSV: {error}", path, reader.line_num, error) from error
