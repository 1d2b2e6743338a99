"""The options of `verify` as keys of a job file, derived from its argument parser."""

from __future__ import annotations

import argparse
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.text.messages import msg


class Takes(enum.Enum):
    """The value of an option: none (true or false in a job file), one, or a list."""

    NOTHING = msg("true or false")
    ONE = msg("a text or a number")
    MANY = msg("a list of texts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option; `is_path` marks a path, which in a job file is relative to the file's folder."""

    key: str
    flag: str
    takes: Takes
    is_path: bool = False

    def words(self, value: object, folder: Path) -> tuple[str, ...]:
        """The command line arguments for this value.

        Raises:
            UsageError: the option takes another kind of value.
        """
        if self.takes is Takes.NOTHING:
            if value not in (True, False, "true", "false"):
                raise UsageError(
                    msg(
                        "{key} is {kind}, not {value}",
                        key=self.key,
                        kind=self.takes.value,
                        value=repr(value),
                    )
                )
            return (self.flag,) if value in (True, "true") else ()
        values = value if isinstance(value, list) and self.takes is Takes.MANY else [value]
        if self.takes is Takes.MANY and isinstance(value, dict):
            values = [f"{name}={item}" for name, item in value.items()]
        if not all(
            isinstance(item, (str, int, float)) and not isinstance(item, bool) for item in values
        ):
            raise UsageError(msg("{key} is {value}", key=self.key, value=self.takes.value))
        return tuple(f"{self.flag}={self._written(str(item), folder)}" for item in values)

    def _written(self, text: str, folder: Path) -> str:
        return str(folder / Path(text).expanduser()) if self.is_path else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """The arguments of `verify`.

    Attributes:
        options: by key.
        refuse: raises UsageError for arguments that `verify` would refuse.
    """

    options: Mapping[str, Option]
    refuse: Callable[[Sequence[str]], None]


def options_of(actions: Iterable[argparse.Action], path_type: object) -> dict[str, Option]:
    """The options of a parser, by key: the flag without its leading dashes, with underscores inside."""
    found = {}
    for action in actions:
        flag = next((name for name in action.option_strings if name.startswith("--")), "")
        key = flag.removeprefix("--").replace("-", "_")
        if not key or key == "help":
            continue
        repeated = isinstance(action, argparse._AppendAction)  # noqa: SLF001 - argparse has no other name for it
        takes = Takes.NOTHING if action.nargs == 0 else Takes.MANY if repeated else Takes.ONE
        found[key] = Option(key=key, flag=flag, takes=takes, is_path=action.type is path_type)
    return found
