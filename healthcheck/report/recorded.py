"""Messages in a report: a template and values beside each text, so that another machine can translate it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional, Union

from healthcheck.core.records import JsonValue
from healthcheck.text.messages import Joined, Message, Plural, names

_WIDE = re.compile(r"\{(?=[^{}]*?\d{3})[^{}]*\}")
"""A placeholder that would expand a short value to any length; no template of the kit has one."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A message: a template and its values, or parts with a separator between them.

    Attributes:
        template: the text with `{name}` for each value; for one thing, where `plural` is for several.
        values: by name. A value that is a record is a message; any other is quoted as it is.
        plural: the template where `number` is not 1.
        number: how many things there are.
        separator: what stands between the parts.
        parts: texts or messages.
    """

    template: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    plural: Optional[str] = None  # noqa: UP045 - msgspec evaluates it, on Python 3.10 too
    number: int = 0
    separator: Optional[str] = None  # noqa: UP045 - as above
    parts: tuple[Value, ...] = ()


Value = Union[Recorded, str, int, float, bool, None]  # noqa: UP007 - as above


def record(text: object) -> JsonValue:
    """A message as JSON values; other plain values unchanged, anything else as text."""
    if isinstance(text, Joined):
        return {"separator": text.template, "parts": [record(part) for part in text.values]}
    if isinstance(text, Message):
        named = names(text.template) if text.values else ()
        values: dict[str, JsonValue] = dict(zip(named, map(record, text.values), strict=True))
        if isinstance(text, Plural):
            return {
                "template": text.one,
                "plural": text.template,
                "number": text.number,
                "values": values,
            }
        return {"template": text.template, "values": values}
    return text if isinstance(text, (bool, int, float)) else str(text)


def read(text: str, recorded: Recorded | None) -> str:
    """The message that was recorded for a text.

    Returns the text itself without a record, as in an older report, or if the record has another text.
    """
    try:
        found = _message(recorded) if recorded else text
    except (KeyError, ValueError, RecursionError):
        return text
    return found if found == text else text


def _message(recorded: Recorded) -> Message:
    if recorded.separator is not None:
        return Joined(recorded.separator, map(_value, recorded.parts))
    template = recorded.plural or recorded.template
    if _WIDE.search(template + recorded.template):
        raise ValueError(template)
    values = [_value(recorded.values[name]) for name in names(template)] if recorded.values else ()
    if recorded.plural is None:
        return Message(template, *values)
    return Plural(recorded.template, template, recorded.number, *values)


def _value(value: Value) -> object:
    return _message(value) if isinstance(value, Recorded) else value
