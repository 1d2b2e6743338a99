"""The catalogue of known failures, from `healthcheck/data/failures.yaml`."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from healthcheck import yaml_text
from healthcheck.check import filled
from healthcheck.errors import KitFailure
from healthcheck.messages import Message, msg
from healthcheck.records import JsonValue
from healthcheck.service.patterns import Pattern, compiled

FLAG = re.compile(r"(?<![\w-])--([a-z][a-z\d-]{2,60})")

FILE = Path(__file__).parent.parent / "data" / "failures.yaml"


class Severity(enum.IntEnum):
    """The meaning of a match, the most specific first.

    FATAL and ERROR name a cause (an ERROR may have been survived). SYMPTOM and KIND say what the last error is, and
    no cause: SYMPTOM what failed, in one program's words; KIND what sort of error it is. WARNING names something
    amiss that seldom ends a launch; GENERIC is a wrapper around a reason elsewhere in the log.
    """

    FATAL = 0
    ERROR = 1
    SYMPTOM = 2
    KIND = 3
    WARNING = 4
    GENERIC = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An environment variable that helps, with its value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One known failure.

    Attributes:
        patterns: regular expressions (multi-line mode) over the log without its prefixes; any of them.
        follows: whether another failure, in another process or further up, often leads to this one.
        fix: the repair, with the service's port for `{port}`; `repairs.repair` words it for a repository.
        variables: environment variables that belong to the repair.
        sources: addresses or files that document the failure.
        examples: log text that a pattern matches.
    """

    id: str
    severity: Severity
    patterns: tuple[Pattern, ...]
    follows: bool
    cause: str
    fix: str
    variables: tuple[Variable, ...]
    sources: tuple[str, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The known failures, and what looks like one and is none."""

    failures: tuple[Failure, ...]
    benign: tuple[Pattern, ...]

    def of(self, severity: Severity) -> tuple[Failure, ...]:
        """The failures of one severity."""
        return tuple(failure for failure in self.failures if failure.severity is severity)


@functools.cache
def catalogue() -> Catalogue:
    """The catalogue that the kit carries.

    Raises:
        KitFailure: its file is malformed.
    """
    try:
        (document,) = _mappings([yaml_text.load(FILE.read_text(encoding="utf-8"))])
        return Catalogue(
            failures=tuple(_failure(entry) for entry in _mappings(document["failures"])),
            benign=tuple(pattern for entry in _mappings(document["benign"]) for pattern in _patterns(entry)),
        )
    except (OSError, yaml_text.YamlError, KeyError, ValueError, re.error) as error:
        raise KitFailure(msg("{name} of the kit cannot be used: {error}", FILE.name, error)) from error


def _failure(entry: dict[str, JsonValue]) -> Failure:
    return Failure(
        id=str(entry["id"]),
        severity=Severity[str(entry["severity"]).upper()],
        patterns=_patterns(entry),
        follows=entry.get("follows") is True,
        cause=message_of(str(entry["cause"])),
        fix=message_of(filled(str(entry["fix"]))),
        variables=_variables(entry.get("variables")),
        sources=_texts(entry["sources"]),
        examples=_texts(entry["examples"]),
    )


def _variables(value: JsonValue) -> tuple[Variable, ...]:
    named = value if isinstance(value, dict) else {}
    return tuple(Variable(name=name, value=str(setting)) for name, setting in named.items())


def _patterns(entry: dict[str, JsonValue]) -> tuple[Pattern, ...]:
    return tuple(compiled(expression) for expression in _texts(entry["patterns"]))


def _mappings(value: JsonValue) -> tuple[dict[str, JsonValue], ...]:
    return tuple(entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else ()


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(text) for text in value) if isinstance(value, list) else ()


def message_of(text: str, own: Mapping[str, str] | None = None) -> Message:
    """A cause or a repair as a message. Its options are values: `own` has the keys of adapter.toml for them."""
    flags = tuple(dict.fromkeys(FLAG.findall(text)))
    if not flags:
        return Message(text)
    template = FLAG.sub(
        lambda match: f"{{{match[1].replace('-', '_')}}}", text.replace("{", "{{").replace("}", "}}")
    )
    return Message(template, *((own or {}).get(flag, f"--{flag}") for flag in flags))
