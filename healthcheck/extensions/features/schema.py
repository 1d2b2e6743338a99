"""Whether a value fits a JSON Schema: the keywords that tools and answers use, without a library."""

from __future__ import annotations

from healthcheck.core.records import JsonValue
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

_JUDGED = {"type", "enum", "required", "properties", "items", "additionalProperties"}
_SAID_ONLY = {
    "title", "description", "default", "examples", "example", "deprecated", "$schema", "$id", "$comment", "$defs",
    "definitions",
}  # fmt: skip
_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def quoted(value: object) -> str:
    """A value in one short line."""
    return repr(str(value)[:160])


def misfit_of_text(text: str, schema: JsonValue) -> str:
    """Why a text is not JSON that fits, "" if it is."""
    try:
        return misfit(json_text.load(text), schema)
    except JsonError as error:
        return msg("not JSON ({error}): {text}", error=error, text=quoted(text))


def at(value: JsonValue, *path: str) -> JsonValue:
    """What is there, None if nothing is."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def list_at(value: JsonValue, key: str) -> list[JsonValue]:
    """The list there, empty if there is none."""
    return found if isinstance(found := at(value, key), list) else []


def text_at(value: JsonValue, *path: str) -> str:
    """The text there; what is not text becomes one, which then does not fit."""
    return "" if (found := at(value, *path)) is None else str(found)


def misfit(value: JsonValue, schema: JsonValue, place: str = "$") -> str:
    """Why a value does not fit, "" if it does; keywords that are not known here are not judged."""
    allowed, types = list_at(schema, "enum"), list_at(schema, "type") or [at(schema, "type")]
    if allowed and value not in allowed:
        return msg(
            "{value} at {place} is not one of {allowed}",
            value=quoted(value),
            place=place,
            allowed=quoted(allowed),
        )
    if not any(_is(value, name) for name in types):
        return msg(
            "{value} at {place} is not of type {types}",
            value=quoted(value),
            place=place,
            types=quoted(types),
        )
    if isinstance(value, dict):
        strict = at(schema, "additionalProperties") is False
        missing = [name for name in list_at(schema, "required") if name not in value]
        extra = [name for name in value if strict and at(schema, "properties", name) is None]
        if missing or extra:
            return msg(
                "at {place}, {missing} are missing, and {extra} unknown",
                place=place,
                missing=quoted(missing),
                extra=quoted(extra),
            )
        parts = [(name, each, at(schema, "properties", name)) for name, each in value.items()]
    else:
        parts = [
            ("[]", each, at(schema, "items")) for each in (value if isinstance(value, list) else ())
        ]
    return next(
        filter(None, (misfit(each, its, f"{place}.{name}") for name, each, its in parts)), ""
    )


def not_judged(schema: JsonValue) -> set[str]:
    """The keywords of a schema that `misfit` passes over, such as anyOf and $ref."""
    if not isinstance(schema, dict):
        return set()
    properties = at(schema, "properties")
    parts = [at(schema, "items"), *(properties.values() if isinstance(properties, dict) else ())]
    return (schema.keys() - _JUDGED - _SAID_ONLY).union(*map(not_judged, parts))


def _is(value: JsonValue, name: JsonValue) -> bool:
    whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    if name in ("integer", "number"):
        return whole or (name == "number" and isinstance(value, float))
    return type(value) is _TYPES.get(str(name), type(value))
