"""Reads JSON documents of a weights folder as transformers does: with Python's json, in UTF-8 without BOM."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from healthcheck.core.records import JsonValue
from healthcheck.stages.weights.folder import Folder, Unreadable, shown
from healthcheck.text.messages import msg

JsonObject = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON object from a file.

    Attributes:
        name: the file's name in the folder.
        present: whether the folder has a file of this name.
        error: why the file is not a JSON object, "" if it is one.
        value: the object, empty if the file is absent or broken.
    """

    name: str
    present: bool
    error: str
    value: JsonObject

    @property
    def good(self) -> bool:
        return self.present and not self.error


def read_document(folder: Folder, name: str, limit: int) -> Document:
    """Read a JSON object of the folder; an unreadable file becomes a document with an error."""
    if folder.entry(name) is None:
        return Document(name=name, present=False, error="", value={})
    try:
        value = parse_object(folder.read(name, limit))
    except (Unreadable, DocumentError) as error:
        return Document(name=name, present=True, error=str(error), value={})
    return Document(name=name, present=True, error="", value=value)


class DocumentError(ValueError):
    """The bytes are not a JSON object; the message says where."""


def parse_object(data: bytes) -> JsonObject:
    """Parse a JSON object. NaN and Infinity are accepted, as in Python and therefore in transformers.

    Raises:
        DocumentError: the bytes are not a JSON object.
    """
    value = parse(data)
    if not isinstance(value, dict):
        raise DocumentError(msg("is JSON, but a {name} and no object", name=type(value).__name__))
    return value


def parse(data: bytes) -> JsonValue:
    """Parse JSON.

    Raises:
        DocumentError: the bytes are not JSON.
    """
    if not data:
        raise DocumentError(msg("is empty"))
    try:
        return cast("JsonValue", json.loads(data.decode("utf-8")))
    except UnicodeDecodeError as error:
        why = msg(
            "is not UTF-8 at byte {start} ({data})",
            start=error.start,
            data=repr(data[error.start : error.start + 4]),
        )
        raise DocumentError(why) from error
    except json.JSONDecodeError as error:
        around = shown(error.doc[max(0, error.pos - 20) : error.pos + 20])
        where = msg("line {line}, column {column}", line=error.lineno, column=error.colno)
        raise DocumentError(
            msg(
                "is not JSON: {error} at {where}, near “{around}”",
                error=error.msg,
                where=where,
                around=around,
            )
        ) from error
    except RecursionError as error:
        raise DocumentError(msg("is nested too deeply to be read")) from error
    except ValueError as error:
        raise DocumentError(msg("is not JSON: {error}", error=shown(str(error)))) from error


def text_of(value: JsonValue) -> str:
    """The value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def integer(value: JsonValue) -> int | None:
    """The value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def positive(value: JsonObject, *names: str) -> int | None:
    """The first value among these keys that is a positive integer below 2**40; larger ones mean "no limit"."""
    found = (integer(value.get(name)) for name in names)
    return next((number for number in found if number is not None and 0 < number < 2**40), None)


def child(value: JsonObject, *names: str) -> JsonObject:
    """The first value among these keys that is an object, else an empty object."""
    return next((found for name in names if isinstance(found := value.get(name), dict)), {})


def words(value: JsonValue) -> tuple[str, ...]:
    """The strings of a list, or a single string."""
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str))
