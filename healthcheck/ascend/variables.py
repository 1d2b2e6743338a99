"""The values that the environment variables of an engine's release accept.

scripts/make_variable_catalogue.py asks the release itself; a value is compared with its answers.
"""

from __future__ import annotations

import contextlib
import enum
import json
from dataclasses import dataclass

MAX_CHARACTERS = 4096
"""A longer value is not judged."""


class TextKind(enum.Enum):
    """The kind of a value. BIT is 0 or 1, FILE the path of a JSON file, TEXT anything else."""

    EMPTY = "empty"
    BIT = "bit"
    INT = "int"
    NEGATIVE = "negative"
    FLOAT = "float"
    TRUTH = "truth"
    JSON = "json"
    FILE = "file"
    TEXT = "text"


NUMBERS = frozenset({TextKind.BIT, TextKind.INT, TextKind.NEGATIVE, TextKind.FLOAT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One environment variable.

    Attributes:
        takes: the kinds of accepted values; empty if every value is, or if it is not known.
        choices: accepted values of other kinds.
        any_case: upper and lower case do not matter in the choices.
        many: several choices may be given, with commas between them.
    """

    takes: tuple[TextKind, ...] = ()
    choices: tuple[str, ...] = ()
    any_case: bool = False
    many: bool = False

    def accepts(self, value: str) -> bool:
        """Whether the release reads the value without an error; True if it is not known."""
        unknown = not self.takes and not self.choices
        if unknown or len(value) > MAX_CHARACTERS or TextKind.TEXT in self.takes:
            return True
        if kind_of(value) in self.takes or self._is_choice(value):
            return True
        if TextKind.FILE in self.takes and "/" in value:
            return True  # whether it is a file with JSON depends on the machine
        parts = filter(None, map(str.strip, value.split(",")))
        return self.many and all(map(self._is_choice, parts))

    def _is_choice(self, value: str) -> bool:
        if self.any_case:
            return value.lower() in map(str.lower, self.choices)
        return value in self.choices


def kind_of(value: str) -> TextKind:
    """The kind of a value; a number is one that Python's int() or float() reads."""
    if not value:
        return TextKind.EMPTY
    if number := _number_kind(value):
        return number
    if value.strip().lower() in {"true", "false"}:
        return TextKind.TRUTH
    try:
        return TextKind.JSON if isinstance(json.loads(value), (dict, list)) else TextKind.TEXT
    except (ValueError, RecursionError):
        return TextKind.TEXT


def _number_kind(value: str) -> TextKind | None:
    with contextlib.suppress(ValueError):
        number = int(value)
        small = TextKind.BIT if number in {0, 1} else TextKind.INT
        return small if number >= 0 else TextKind.NEGATIVE
    with contextlib.suppress(ValueError):
        float(value)
        return TextKind.FLOAT
    return None
