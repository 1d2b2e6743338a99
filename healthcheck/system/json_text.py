"""Bounded, strict, typed JSON. Besides `wire` and the options of a probe, the only user of msgspec."""

from __future__ import annotations

import json
import re
from typing import TypeVar, cast

import msgspec

from healthcheck.core.records import JsonValue
from healthcheck.errors import KitError
from healthcheck.text.messages import msg

T = TypeVar("T")
_STRING = re.compile(rb'"[^"]*"?')


class JsonError(KitError):
    """The text is not JSON or does not have the expected shape; the message says where."""


def load(data: bytes | str) -> JsonValue:
    """Parse JSON text.

    Raises:
        JsonError: the text is not JSON.
    """
    return load_as(data, object)  # type: ignore[return-value]


def load_as(data: bytes | str, shape: type[T]) -> T:
    """Parse JSON text into a record (a frozen dataclass, for example) without coercion.

    Raises:
        JsonError: the text is not JSON or not of that shape.
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise JsonError(str(error)) from error


def convert(value: JsonValue, shape: type[T]) -> T:
    """Convert JSON values into a record, without coercion.

    Raises:
        ValueError: the values are not of that shape.
    """
    try:
        return msgspec.convert(value, shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error


def load_few(data: bytes, shape: type[T], most: int) -> T:
    """Parse JSON of at most `most` values: a value of two bytes takes a hundred in memory.

    Raises:
        JsonError: there are more values, or the text is not JSON or not of that shape.
    """
    if _values(data, most) > most:
        raise JsonError(msg("more than {most} values", most=most))
    return load_as(data, shape)


def _values(data: bytes, most: int) -> int:
    """An upper bound of the number of values; strings are excluded only if the bound would exceed `most`."""
    signs = (b",", b"[", b"{")
    found = sum(map(data.count, signs))
    if found <= most:
        return found
    plain = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    found, at = 0, 0
    for string in _STRING.finditer(plain):
        found += sum(plain.count(sign, at, string.start()) for sign in signs)
        at = string.end()
        if found > most:
            break
    return found + sum(plain.count(sign, at) for sign in signs)


def _builtin(value: object) -> str:
    """The plain text of a message: msgspec supports `str` but none of its subclasses."""
    if isinstance(value, str):
        return str.__str__(value)
    raise NotImplementedError


def plain(value: object) -> JsonValue:
    """Convert to JSON values; records become objects."""
    return cast("JsonValue", msgspec.to_builtins(value, enc_hook=_builtin))


def dump(value: object) -> bytes:
    """Indented UTF-8 JSON with a final newline; records are written as objects."""
    return (
        json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False).encode(
            "utf-8", "replace"
        )
        + b"\n"
    )


def dump_line(value: object) -> bytes:
    """One line of UTF-8 JSON with a newline, for a log of records."""
    return msgspec.json.encode(value, enc_hook=_builtin) + b"\n"
