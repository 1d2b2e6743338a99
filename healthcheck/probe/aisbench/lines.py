"""The records of AISBench's predictions, line by line: what is needed of each, and nothing of one too large."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from healthcheck import json_text
from healthcheck.errors import UsageError
from healthcheck.json_text import JsonError
from healthcheck.messages import msg

MAX_ID = 100_000
MAX_LINE_BYTES = 4 * 2**20
"""A prompt and an answer of 128 thousand tokens each are a quarter of it."""
MAX_DOCUMENT_BYTES = 24 * 2**20
"""Of a file that is one document, as old releases wrote it: it is parsed as a whole."""
_DOCUMENT = re.compile(rb"\s*[\[{][^\S\n]*\n|\s*[\[{][^\n]*\s*\Z")
"""A bracket on the first line, or a text of one line."""
MAX_VALUES = 200_000
MAX_GOLD_BYTES = 16 * 1024
MAX_ERROR_CHARS = 200


@dataclass(frozen=True, slots=True)
class Written:
    """A record as it is written; the prompt and whatever else there may be is passed over by the parser."""

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
        gold: the right answer as JSON, text or a list; b"" if there is none, or one beyond all measure.
    """

    id: int
    success: bool | None
    uuid: str | None
    utf8: bytes
    gold: bytes
    error: str
    dataset: str | None


def read(data: bytes) -> tuple[list[Record], int]:
    """The records of JSON lines, or of one JSON document; and how many lines were unreadable.

    Raises:
        UsageError: it is a document too large to be parsed.
    """
    records, damaged = list[Record](), 0
    for line in io.BytesIO(data):
        if line.strip():
            record = _of_line(line)
            if record:
                records.append(record)
            else:
                damaged += 1
    if damaged and not records:
        whole = list(_document(data))
        return (whole, 0) if whole else (records, damaged)
    return records, damaged


def _of_line(line: bytes) -> Record | None:
    try:
        return _record(json_text.load_few(line, Written, MAX_VALUES)) if len(line) <= MAX_LINE_BYTES else None
    except JsonError:
        return None


def _document(data: bytes) -> Iterator[Record]:
    """The records of a single JSON document: a list, or an object of them by number."""
    if not _DOCUMENT.match(data):
        return
    if len(data) > MAX_DOCUMENT_BYTES:
        raise UsageError(
            msg(
                "predictions in one JSON document of {data} bytes: only those with a record on each line may "
                "have more than {max_document_bytes}",
                len(data),
                MAX_DOCUMENT_BYTES,
            )
        )
    for shape in (list[Written], dict[str, Written]):
        try:
            found = json_text.load_few(data, shape, MAX_VALUES)
        except JsonError:
            continue
        for place, written in enumerate(found.values() if isinstance(found, dict) else found):
            record = _record(replace(written, id=place) if written.id is None else written)
            if record:
                yield record


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
