"""Corrections of arguments that vLLM rejects, as exact edits of deploy.sh."""

from __future__ import annotations

import enum
import json
import shlex
from dataclasses import dataclass

from healthcheck.core.records import Edit
from healthcheck.stages.plan.script.arguments import Arguments
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError


class Kind(enum.Enum):
    """What a correction changes."""

    NAME = "name"
    WORDS = "words"
    VALUE = "value"
    OBJECT = "object"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A correction of the argument at the index of a problem.

    Attributes:
        new: the new name, words of a shell, value, or JSON text.
        old: the value as the program got it.
        values: for REMOVE, how many values go with the option; for WORDS, how many the words replace; for OBJECT,
            how many arguments behind the value are parts of it.
    """

    kind: Kind
    new: str = ""
    old: str = ""
    values: int = 0


def edits(correction: Correction | None, at: int, arguments: Arguments) -> tuple[Edit, ...]:
    """The edits of deploy.sh that make a correction; none if the argument is not found there for certain."""
    if correction is None:
        return ()
    match correction.kind:
        case Kind.NAME:
            return arguments.renamed(at, correction.new)
        case Kind.WORDS:
            return arguments.rewritten(at, correction.new, correction.values)
        case Kind.VALUE:
            return arguments.revalued(at, correction.old, correction.new)
        case Kind.REMOVE:
            return arguments.removed(at, correction.values)
        case Kind.OBJECT:
            return _object(correction, at, arguments)


def _object(correction: Correction, at: int, arguments: Arguments) -> tuple[Edit, ...]:
    span = arguments.source_value(at)
    if span is None and correction.values:
        return ()
    if span is None:
        return arguments.revalued(at, correction.old, shlex.quote(correction.new))
    written = arguments.text[slice(*span)]
    inner = written[1:-1] if written[:1] in {"'", '"'} else written
    return arguments.replaced_source(
        span, f"'{inner}'" if _is_meant(inner, correction.new) else shlex.quote(correction.new)
    )


def _is_meant(inner: str, wanted: str) -> bool:
    """Whether the text of the script is the wanted object, and lacks only the quotes around it."""
    try:
        same = json_text.load(inner) == json.loads(wanted)
    except (JsonError, ValueError):
        return False
    return same and "'" not in inner and "$" not in inner
