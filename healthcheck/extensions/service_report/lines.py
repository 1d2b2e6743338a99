"""The records of AISBench's predictions, line by line: only the necessary fields, and no oversized lines."""

from __future__ import annotations

import io
from dataclasses import dataclass

from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError

MAX_ID = 100_000
MAX_LINE_BYTES = 4 * 2**20
"""A prompt and an answer of 128 thousand tokens each take a quarter of it."""
MAX_VALUES = 200_000
MAX_GOLD_BYTES = 16 * 1024
MAX_ERROR_CHARS = 200


@dataclass(frozen=True, slots=True)
class Written:
    """A record as written; the parser skips the prompt and all other fields."""

    id: object = None
    success: object = None
    uuid: object = None
    prediction: object = None
    gold: object = None
    error_info: object = None
    data_abbr: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A request with its answer or its error.

    Attributes:
        success: None if the record does not say.
        utf8: the answer; as a str, one rare character may make it four times as long.
        gold: the right answer as JSON, text or a list; b"" if there is none or it is oversized.
    """

    id: int
    success: bool | None
    uuid: str | None
    utf8: bytes
    gold: bytes
    error: str
    dataset: str | None


def read(data: bytes) -> tuple[list[Record], int]:
    """The records of JSON lines, and the number of unreadable lines."""
    found = [_of_line(line) for line in io.BytesIO(data) if line.strip()]
    records = [record for record in found if record]
    return records, len(found) - len(records)


def _of_line(line: bytes) -> Record | None:
    try:
        return (
            _record(json_text.load_few(line, Written, MAX_VALUES))
            if len(line) <= MAX_LINE_BYTES
            else None
        )
    except JsonError:
        return None


def _record(written: Written) -> Record | None:
    number, answer, gold = written.id, written.prediction, b""
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_ID:
        return None
    if written.gold and isinstance(written.gold, (str, list)):
        gold = json_text.dump_line(written.gold)
    return Record(
        id=number,
        success=written.success if isinstance(written.success, bool) else None,
        uuid=written.uuid if isinstance(written.uuid, str) else None,
        utf8=answer.encode("utf-8", "surrogatepass") if isinstance(answer, str) else b"",
        gold=gold if len(gold) <= MAX_GOLD_BYTES else b"",
        error=str(written.error_info or "no reason given")[:MAX_ERROR_CHARS],
        dataset=written.data_abbr if isinstance(written.data_abbr, str) else None,
    )
