"""Reads a repository's settings for its verification.

They are the table `[tool.npu-adapter]` of pyproject.toml or `[npu-adapter]` of adapter.toml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.system import toml_text
from healthcheck.system.files import read_bounded
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import joined, msg

PLACES = {"pyproject.toml": ("tool", "npu-adapter"), "adapter.toml": ("npu-adapter",)}
"""The files, each with the path of its table."""
MAX_BYTES = 1024**2
TEXTS = (msg("task"), "stack", "npu", "service")
KEYS = (*TEXTS, "npus", "strict", "skip")
_CONFLICT = "<<<<<<<"
_LINE = re.compile(r"(?:at|in) line (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a file; missing ones are empty.

    Attributes:
        file: the name of the file, "" if the repository has no settings.
        service: the repository's file with the profile of its service.
        strict: warnings count as failures.
        skip: ids of the checks to leave out, each with the reason.
    """

    file: str = ""
    task: str = ""
    stack: str = ""
    npu: str = ""
    service: str = ""
    npus: int = 0
    strict: bool = False
    skip: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file that is not TOML.

    Attributes:
        line: number of the faulty line, whose contents are `text`.
        reason: the parser's message.
        conflict: the line is a conflict marker of git.
    """

    file: str
    line: int
    text: str
    reason: str
    conflict: bool


def read_settings(root: Path) -> Settings:
    """Read the settings of the repository in a folder.

    A file that is not TOML is left out; repo/settings-parse fails for it.

    Raises:
        UsageError: both files have settings, or a setting is unknown or has the wrong type.
    """
    found = {
        name: table
        for name, path in PLACES.items()
        if (table := _table(root / name, path)) is not None
    }
    if len(found) > 1:
        raise UsageError(
            msg(
                "{found} both have settings of npu-adapter: keep one of them",
                found=joined(" and ", found),
            )
        )
    return next((_settings(name, table) for name, table in found.items()), Settings())


def _table(file: Path, path: tuple[str, ...]) -> object:
    if not file.is_file():
        return None
    found: object = _loaded(read_bounded(file, MAX_BYTES), file.name)
    for word in path:
        found = found.get(word) if isinstance(found, dict) else None
    return found


def problems(root: Path) -> tuple[Problem, ...]:
    """The settings files of a folder that are not TOML."""
    found = []
    for name in PLACES:
        with suppress(UsageError):  # read_settings raises it
            data = read_bounded(root / name, MAX_BYTES) if (root / name).is_file() else b""
            reason = _loaded(data, name)
            found += [_problem(name, data, reason)] if isinstance(reason, str) else []
    return tuple(found)


def _problem(file: str, data: bytes, reason: str) -> Problem:
    lines = data.decode("utf-8", "replace").split("\n")
    marked = next((number for number, line in enumerate(lines, 1) if line.startswith(_CONFLICT)), 0)
    named = _LINE.search(reason)
    line = marked or (int(named[1]) if named else len("\n".join(lines).rstrip().split("\n")))
    return Problem(file=file, line=line, text=lines[line - 1], reason=reason, conflict=bool(marked))


def _loaded(data: bytes, name: str) -> dict[str, object] | str:
    """The contents of a file, or why it cannot be parsed."""
    try:
        return toml_text.load(data, name)
    except toml_text.TomlError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            return msg(
                "it is not UTF-8 (at line {count})",
                count=data[: error.__cause__.start].count(10) + 1,
            )
        return str(error.__cause__ or error)


def _settings(file: str, table: object) -> Settings:
    where = msg("[{table}] of {file}", table=".".join(PLACES[file]), file=file)
    if not isinstance(table, dict):
        raise UsageError(msg("{where} is not a table", where=where))
    for key in table:
        if key not in KEYS:
            known, near = ", ".join(KEYS), hint(key, KEYS)
            raise UsageError(
                msg(
                    "{where}: {key} is not known; the keys are {keys}{hint}",
                    where=where,
                    key=key,
                    keys=known,
                    hint=near,
                )
            )
    texts = {key: table[key] for key in TEXTS if key in table}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(
                msg(
                    "{where}: {key} is {value}, not a text", where=where, key=key, value=repr(value)
                )
            )
    npus = table.get("npus", 0)
    if not isinstance(npus, int) or isinstance(npus, bool) or npus < 0:
        raise UsageError(
            msg("{where}: npus is {npus}, not a whole number", where=where, npus=repr(npus))
        )
    strict = table.get("strict", False)
    if not isinstance(strict, bool):
        raise UsageError(
            msg("{where}: strict is {strict}, not true or false", where=where, strict=repr(strict))
        )
    skip = table.get("skip", {})
    if not isinstance(skip, dict):
        why = msg(
            '{where}: skip is a table of checks with their reasons, such as "plan/host" = "…"',
            where=where,
        )
        raise UsageError(why)
    for check, reason in skip.items():
        if not isinstance(reason, str) or not reason.strip():
            raise UsageError(
                msg("{where}: {check} is left out without a reason", where=where, check=check)
            )
    return Settings(file=file, **texts, npus=npus, strict=strict, skip=skip)
