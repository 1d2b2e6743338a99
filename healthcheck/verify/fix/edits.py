"""Repairs as data, their diff, and their application to files."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from healthcheck.errors import KitFailure, UsageError, reason_of
from healthcheck.system.files import read_bounded, write_atomically

MAX_FILE_BYTES = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Bytes `start` to `end` of a file become `new`."""

    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One repair of one file of the working copy.

    Attributes:
        path: relative to the root.
        check: the check that it is for.
        title: its effect, as an imperative.
        before: the file's bytes when the repair was made.
        edits: one within an edit of another repair is dropped, because the other replaces its bytes.
        executable: whether the file gets its executable bit.
    """

    path: str
    check: str
    title: str
    before: bytes
    edits: tuple[Edit, ...] = ()
    executable: bool = False


def diff(repairs: tuple[Repair, ...]) -> str:
    """All repairs as one unified diff; a carriage return shows as ␍, a byte order mark as ␏.

    Line ends that become LF are counted on a line of their own, and the diff shows the other changes.
    """
    return "".join(part for path in _paths(repairs) for part in _diff(path, _of(repairs, path)))


def apply(root: Path, repairs: tuple[Repair, ...]) -> tuple[str, ...]:
    """Write the repairs file by file, and return the paths. Nothing else in a file changes, nor its mode.

    Raises:
        UsageError: a file has changed since the repairs were made; it is left alone.
        KitFailure: a file cannot be written.
    """
    paths = _paths(repairs)
    for path in paths:
        _apply(root / path, _of(repairs, path))
    return paths


def repaired(repairs: tuple[Repair, ...]) -> bytes:
    """The bytes of one file after all its repairs."""
    data, parts, at = repairs[0].before, [], 0
    for edit in sorted((edit for each in repairs for edit in each.edits), key=lambda edit: (edit.start, -edit.end)):
        if edit.start >= at:  # otherwise it lies within an edit that was already applied
            parts += [data[at : edit.start], edit.new]
            at = edit.end
    return b"".join([*parts, data[at:]])


def _apply(file: Path, repairs: tuple[Repair, ...]) -> None:
    if file.is_symlink() or read_bounded(file, MAX_FILE_BYTES) != repairs[0].before:
        raise UsageError("{file} changed while it was verified: it was not repaired; run the command again", file)
    try:
        mode = stat.S_IMODE(os.stat(file).st_mode)
        wanted = mode | 0o111 if any(each.executable for each in repairs) else mode
        if any(each.edits for each in repairs):
            write_atomically(file, repaired(repairs))
        os.chmod(file, wanted)
    except OSError as error:
        raise KitFailure("cannot repair {file}: {reason}", file, reason_of(error)) from error


def _diff(path: str, repairs: tuple[Repair, ...]) -> Iterator[str]:
    before, after = repairs[0].before, repaired(repairs)
    line_ends = sum(before[edit.start : edit.end] == b"\r" for each in repairs for edit in each.edits)
    if line_ends:
        yield f"{path}: {line_ends} line end{'s' if line_ends > 1 else ''} CRLF → LF\n"
        before, after = before.replace(b"\r\n", b"\n"), after.replace(b"\r\n", b"\n")
    if any(each.executable for each in repairs):
        yield f"diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n"
    for line in difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace").replace("\r", "␍").replace("\ufeff", "␏")
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _paths(repairs: tuple[Repair, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(repair.path for repair in repairs))


def _of(repairs: tuple[Repair, ...], path: str) -> tuple[Repair, ...]:
    return tuple(repair for repair in repairs if repair.path == path)
