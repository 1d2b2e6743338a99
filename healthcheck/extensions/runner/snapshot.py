"""The record of a machine for later runs, and the changes since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

MAX_FILE_BYTES = 16 * 2**20
MAX_ENTRIES = 4096
TEXT_CHARACTERS = 200
NAME = "machine"
"""The key of the record in the report's metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A machine at one time.

    Attributes:
        facts: versions, names and limits; a later run expects the same.
        counters: numbers that only errors raise.
    """

    at: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metrics:
    machine: Snapshot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    metrics: _Metrics


def load(path: Path) -> Snapshot:
    """The record in a report.json.

    Raises:
        UsageError: the file cannot be read, is too long, or has no record of a machine.
    """
    try:
        found = json_text.load_as(read_bounded(path, MAX_FILE_BYTES), _Report).metrics.machine
    except JsonError as error:
        raise UsageError(
            msg("{path} is not a report.json of runner: {error}", path=path, error=error)
        ) from error
    if found is None:
        lacking = msg(
            "{path} has no record of a machine: name the report.json of an earlier `runner --out`",
            path=path,
        )
        raise UsageError(lacking)
    if max(len(found.facts), len(found.counters)) > MAX_ENTRIES:
        raise UsageError(
            msg("{path} has more than {max_entries} entries", path=path, max_entries=MAX_ENTRIES)
        )
    return found


def changes(old: Snapshot, new: Snapshot) -> Iterator[tuple[str, str, str]]:
    """Facts that differ, and counters that grew: the name, the old value and the new one.

    Values that only one of the two has do not count: that run examined less.
    """
    for name, now in new.facts.items():
        if (was := old.facts.get(name, now)) != now:
            yield _short(name), _short(was), _short(now)
    for name, count in new.counters.items():
        if count > old.counters.get(name, count):
            yield _short(name), str(old.counters[name]), str(count)


def _short(text: str) -> str:
    return text[:TEXT_CHARACTERS]
