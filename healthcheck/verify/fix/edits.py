"""Applies exact edits to the files of a working copy: all those of a finding, or none."""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from healthcheck.core.edits import occurs_once
from healthcheck.core.records import Edit
from healthcheck.errors import KitFailure, UsageError, reason_of
from healthcheck.system.files import read_bounded, write_atomically
from healthcheck.text.messages import msg

MAX_FILE_BYTES = 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The edits of one finding of a check; `words` says what they do."""

    check: str
    words: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file before and after all repairs; `executable`: it gets its executable bit."""

    path: str
    before: bytes
    after: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Repairs that fit together, and what they make of each file."""

    repairs: tuple[Repair, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class _Span:
    start: int
    end: int
    new: bytes


def propose(repairs: Sequence[Repair], files: Mapping[str, bytes]) -> Proposal:
    """The repairs whose edits fit the files, and fit each other; one that does not has to wait for another round.

    `files` are the files that may be changed, by their path.
    """
    spans: dict[str, set[_Span]] = {}
    executable: set[str] = set()
    made = []
    for repair in repairs:
        found = [(edit, _span(files, edit)) for edit in repair.edits]
        fits = all(
            edit.file in files
            if edit.executable
            else span and _fits(span, spans.get(edit.file, set()))
            for edit, span in found
        )
        if not found or not fits:
            continue
        made.append(repair)
        for edit, span in found:
            if edit.executable:
                executable.add(edit.file)
            elif span:
                spans.setdefault(edit.file, set()).add(span)
    changes = (
        Change(
            path=path,
            before=files[path],
            after=_edited(files[path], spans.get(path, set())),
            executable=bit,
        )
        for path, bit in (
            (path, path in executable) for path in dict.fromkeys((*spans, *sorted(executable)))
        )
    )
    return Proposal(repairs=tuple(made), changes=tuple(changes))


def fits(edit: Edit, data: bytes) -> bool:
    """Whether a file with these bytes has the old text of an edit at its place."""
    return _span({edit.file: data}, edit) is not None


def diff(changes: Sequence[Change]) -> str:
    """All changes as one unified diff; a carriage return shows as ␍, a byte order mark as ␏.

    Line ends that become LF are counted on a line of their own, and the diff shows the other changes.
    """
    return "".join(part for change in changes for part in _diff(change))


def apply(root: Path, changes: Sequence[Change]) -> tuple[str, ...]:
    """Write the changed files one by one, and return their paths. No mode changes but for the executable bit.

    Raises:
        UsageError: a file has changed since the repairs were proposed, or is behind a link; it is left alone.
        KitFailure: a file cannot be written.
    """
    for change in changes:
        _apply(root.resolve() / change.path, change)
    return tuple(change.path for change in changes)


def _span(files: Mapping[str, bytes], edit: Edit) -> _Span | None:
    """Where the old text of an edit is in its file; None if it does not fit the file, or fits it twice."""
    data = files.get(edit.file)
    if data is None or edit.executable:
        return None
    starts = _line_starts(data)
    line_end = b"\r\n" if b"\r\n" in data else b"\n"
    if not edit.old:
        return _insertion(data, starts, edit, line_end)
    if not 1 <= edit.line <= len(starts):
        return None
    lines = edit.old.count("\n") + (0 if edit.old.endswith("\n") else 1)
    first, after = starts[edit.line - 1], edit.line - 1 + lines
    last = starts[after] if after < len(starts) else len(data)
    for end in (b"\n", b"\r\n"):
        old, new = _encoded(edit.old, end), _encoded(edit.new, line_end)
        if occurs_once(old, data[first:last]):
            start = first + data[first:last].index(old)
            return _Span(start, start + len(old), new)
    return None


@lru_cache(maxsize=8)
def _line_starts(data: bytes) -> tuple[int, ...]:
    """The offset of each line; a file is asked once for each of up to thousands of edits."""
    return (0, *(found.end() for found in re.finditer(b"\n", data)))


def _insertion(data: bytes, starts: Sequence[int], edit: Edit, line_end: bytes) -> _Span | None:
    new = _encoded(edit.new.removesuffix("\n"), line_end)
    if not 0 <= edit.line <= len(starts):
        return None
    if edit.line < len(starts):
        return _Span(starts[edit.line], starts[edit.line], new + line_end)
    begins_its_line = not data or data.endswith(b"\n")
    return _Span(len(data), len(data), new + line_end if begins_its_line else line_end + new)


def _encoded(text: str, line_end: bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape").replace(b"\n", line_end)


def _fits(span: _Span, others: set[_Span]) -> bool:
    """Whether an edit is one of the others, or touches none of them."""
    if span in others:
        return True
    same_place = any(span.start == other.start for other in others)
    return not same_place and all(
        span.end <= other.start or other.end <= span.start for other in others
    )


def _edited(data: bytes, spans: set[_Span]) -> bytes:
    for span in sorted(spans, reverse=True):
        data = data[: span.start] + span.new + data[span.end :]
    return data


def _apply(file: Path, change: Change) -> None:
    if (
        file.resolve() != file
        or file.is_symlink()
        or read_bounded(file, MAX_FILE_BYTES) != change.before
    ):
        raise UsageError(
            msg(
                "{file} changed while it was verified: it was not repaired; run the command again",
                file=file,
            )
        )
    try:
        mode = stat.S_IMODE(os.stat(file).st_mode)
        if change.after != change.before:
            write_atomically(file, change.after)
        os.chmod(file, mode | 0o111 if change.executable else mode)
    except OSError as error:
        raise KitFailure(
            msg("cannot repair {file}: {reason}", file=file, reason=reason_of(error))
        ) from error


def _diff(change: Change) -> Iterator[str]:
    path, before, after = change.path, change.before, change.after
    line_ends = before.count(b"\r\n") - after.count(b"\r\n") if b"\r\n" not in after else 0
    if line_ends > 0:
        yield f"{path}: {line_ends} line end{'s' if line_ends > 1 else ''} CRLF → LF\n"
        before = before.replace(b"\r\n", b"\n")
    if change.executable:
        yield f"diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n"
    for line in difflib.unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace").replace("\r", "␍").replace("\ufeff", "␏")
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
