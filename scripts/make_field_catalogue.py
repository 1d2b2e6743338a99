# ruff: noqa: INP001 - a script, no package
"""Asks vLLM what the fields of its configuration objects accept; scripts/make_flag_catalogue.py writes it down.

Each field is given values of every kind that JSON has, and pydantic says which ones it refuses. `__post_init__`
is left out, which compares fields with each other and with the machine.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import typing
from collections.abc import Iterator
from pathlib import Path

from pydantic import SkipValidation, TypeAdapter, ValidationError

Entry = dict[str, object]
NO_CHOICE = "no-such-value"
VALUES: dict[str, tuple[object, ...]] = {
    "null": (None,),
    "switch": (True, False),
    "bit": (0, 1),
    "int": (2, 16, 4096, -1),
    "float": (0.5, 1.5, -0.5),
    "switch-text": ("true",),
    "int-text": ("0", "1", "2", "2.0", "16", "4096", "-1"),
    "float-text": ("0.5", "1.5"),
    "text": (NO_CHOICE,),
    "list": ([], [1], [16, 32], ["a"], [[1, 2]], [{}]),
    "object": ({}, {"a": 1}, {"a": "b"}),
}
"""Values by kind. A kind is refused where each of its values is."""
PLAIN = {bool, int, float, str, list, tuple, set, frozenset, dict, type(None), Path}
LIMITS = ("ge", "gt", "le", "lt")


def fields(record: type) -> dict[str, Entry]:
    """What the fields of a configuration class accept, by name."""
    return {name: _entry(record, name, annotation) for name, annotation in _annotations(record)}


def limits(metadata: typing.Iterable[object]) -> list[float | None]:
    """The limits of a field by its constraints: at least, more than, at most, less than; [] without any."""
    found: list[float | None] = [None, None, None, None]
    for constraint in metadata:
        for at, attribute in enumerate(LIMITS):
            value = getattr(constraint, attribute, None)
            found[at] = value if isinstance(value, (int, float)) else found[at]
    return found if any(bound is not None for bound in found) else []


def _annotations(record: type) -> Iterator[tuple[str, object]]:
    hints = typing.get_type_hints(record, include_extras=True)
    yield from (
        (field.name, hints[field.name]) for field in dataclasses.fields(record) if field.init
    )


def _is_own(part: object) -> bool:
    """Whether a type is a class of its own, of whose values JSON alone does not tell."""
    if part is SkipValidation or isinstance(part, SkipValidation):
        return True
    if not isinstance(part, type) or part in PLAIN:
        return False
    return not (issubclass(part, enum.Enum) or dataclasses.is_dataclass(part))


def _entry(record: type, name: str, annotation: object) -> Entry:
    entry = _asked(record, name, annotation)
    records = (
        part
        for part in _parts(annotation)
        if isinstance(part, type) and dataclasses.is_dataclass(part)
    )
    nested = next(records, None) if entry else None
    inner = {key: _asked(nested, key, of) for key, of in _annotations(nested)} if nested else {}
    return entry | ({"fields": inner} if inner else {})


def _parts(annotation: object) -> Iterator[object]:
    """The types and metadata inside an annotation, those of the elements of a collection excepted."""
    yield annotation
    origin = typing.get_origin(annotation)
    if origin in {list, tuple, set, frozenset, dict}:
        yield origin
    elif origin is not None:
        for part in typing.get_args(annotation):
            yield from _parts(part)


def _asked(record: type, name: str, annotation: object) -> Entry:
    parts = list(_parts(annotation))
    if any(map(_is_own, parts)):
        return {}
    takes = [
        kind
        for kind, values in VALUES.items()
        if any(_is_taken(record, name, value) for value in values)
    ]
    takes += ["list"] if not {list, tuple, set, frozenset}.isdisjoint(parts) else []
    takes += ["object"] if dict in parts or any(map(dataclasses.is_dataclass, parts)) else []
    entry: Entry = {}
    if "text" not in takes and str not in parts:
        choices = sorted(
            {each for word in _words(parts) for each in (word, word.lower(), word.upper())}
        )
        entry["choices"] = [word for word in choices if _is_taken(record, name, word)]
    if "text" not in takes and (str in parts or entry.get("choices")):
        takes.append("text")
    own = getattr(record, "__pydantic_fields__", {})
    entry["range"] = limits(own[name].metadata) if name in own else []
    if "text" in takes and not entry.get("choices"):
        takes = [kind for kind in takes if not kind.endswith("-text")]
    return {"takes": sorted(set(takes)), **{key: value for key, value in entry.items() if value}}


def _words(parts: list[object]) -> Iterator[str]:
    yield "auto"
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, type) and issubclass(part, enum.Enum):
            yield from part.__members__
            yield from (member.value for member in part if isinstance(member.value, str))


def _is_taken(record: type, name: str, value: object) -> bool:
    """Whether the class takes a value for one of its fields; where something else is missing, it does."""
    try:
        _adapter(record).validate_json(json.dumps({name: value}))
    except ValidationError as error:
        return not any(each["loc"][:1] == (name,) for each in error.errors(include_url=False))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return True


_ADAPTERS: dict[type, TypeAdapter[object]] = {}


def _adapter(record: type) -> TypeAdapter[object]:
    if record not in _ADAPTERS:
        if hasattr(record, "__post_init__"):
            record.__post_init__ = lambda *_: None  # type: ignore[attr-defined]
        _ADAPTERS[record] = TypeAdapter(record)
    return _ADAPTERS[record]
