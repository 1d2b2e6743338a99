"""The catalogue of known failures, from `healthcheck/data/failures.yaml`."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck import contract
from healthcheck.errors import KitFailure
from healthcheck.system import json_text, yaml_text
from healthcheck.system.files import DATA
from healthcheck.text.messages import Message, msg

FLAG = re.compile(r"(?<![\w-])--([a-z][a-z\d-]{2,60})")

FILE = DATA / "failures.yaml"


class Severity(enum.IntEnum):
    """The meaning of a match, the most specific first.

    FATAL and ERROR name a cause (a server may survive an ERROR). SYMPTOM and KIND describe the last error without a
    cause: SYMPTOM names what failed, in one program's words; KIND the sort of error. PART names the part of the
    program whose code raised it. WARNING names a problem that seldom ends a launch; GENERIC is a wrapper around a
    reason elsewhere in the log.
    """

    FATAL = 0
    ERROR = 1
    SYMPTOM = 2
    KIND = 3
    PART = 4
    WARNING = 5
    GENERIC = 6


class States(enum.Enum):
    """What of the last error, if it shows a symptom or a kind, says the cause itself.

    LINE: the line that matches. SENTENCE: one that says what is refused. PART: the part of the program that raised
    it; without a part or a sentence, nothing is said at all.
    """

    LINE = "line"
    SENTENCE = "sentence"
    PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One known failure.

    Attributes:
        patterns: regular expressions (multi-line mode) over the log without its prefixes; one match suffices.
        follows: whether this failure is often the consequence of another, in another process or earlier in the log.
        states: what makes it the cause, if the last error shows it.
        fix: the repair, with the service's port for `{port}`; `repairs.repair` words it for a repository.
        variables: environment variables that belong to the repair, with their values.
        sources: addresses or files that document the failure.
        examples: log text that a pattern matches.
    """

    id: str
    severity: Severity
    patterns: tuple[re.Pattern[str], ...]
    follows: bool
    states: frozenset[States]
    cause: str
    fix: str
    variables: Mapping[str, str]
    sources: tuple[str, ...]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The known failures, and the lines that only look like one."""

    failures: tuple[Failure, ...]
    benign: tuple[re.Pattern[str], ...]

    def of(self, severity: Severity) -> tuple[Failure, ...]:
        return tuple(failure for failure in self.failures if failure.severity is severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    id: str = ""
    severity: str = ""
    patterns: tuple[str, ...]
    follows: bool = False
    states: str = ""
    cause: str = ""
    fix: str = ""
    variables: Mapping[str, str | int] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    failures: tuple[_Entry, ...]
    benign: tuple[_Entry, ...]


def catalogue() -> Catalogue:
    """The catalogue of the kit, for the current port of the service.

    Raises:
        KitFailure: its file is malformed.
    """
    return _catalogue(contract.PORT)


@functools.lru_cache(maxsize=2)
def _catalogue(port: int) -> Catalogue:
    try:
        file = json_text.convert(yaml_text.load(FILE.read_text(encoding="utf-8")), _File)
        return Catalogue(
            failures=tuple(_failure(entry, port) for entry in file.failures),
            benign=tuple(
                _compiled(expression) for entry in file.benign for expression in entry.patterns
            ),
        )
    except (OSError, yaml_text.YamlError, KeyError, ValueError, re.error) as error:
        raise KitFailure(
            msg("{name} of the kit cannot be used: {error}", name=FILE.name, error=error)
        ) from error


_compiled = functools.partial(re.compile, flags=re.MULTILINE)


def _failure(entry: _Entry, port: int) -> Failure:
    return Failure(
        id=entry.id,
        severity=Severity[entry.severity.upper()],
        patterns=tuple(map(_compiled, entry.patterns)),
        follows=entry.follows,
        states=frozenset(States(word.strip()) for word in entry.states.split(",") if word),
        cause=message_of(entry.cause),
        fix=message_of(entry.fix.replace("{port}", str(port))),
        variables={name: str(value) for name, value in entry.variables.items()},
        sources=entry.sources,
        examples=entry.examples,
    )


def message_of(text: str, own: Mapping[str, str] | None = None) -> Message:
    """A cause or a repair as a message. Its options are values, replaced by the keys of adapter.toml in `own`."""
    flags = tuple(dict.fromkeys(FLAG.findall(text)))
    if not flags:
        return Message(text)
    template = FLAG.sub(
        lambda match: f"{{{match[1].replace('-', '_')}}}",
        text.replace("{", "{{").replace("}", "}}"),
    )
    return Message(template, *((own or {}).get(flag, f"--{flag}") for flag in flags))
