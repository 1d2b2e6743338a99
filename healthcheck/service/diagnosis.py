"""From a log of any length to the cause of a failed launch: the first specific failure of the catalogue in it.

The log is read in windows that overlap, so memory stays bounded whatever its length, and a pattern may span lines.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from healthcheck.errors import UsageError
from healthcheck.redact import without_secrets
from healthcheck.service.blocks import Line, last_error
from healthcheck.service.catalogue import Catalogue, Failure, Severity, catalogue
from healthcheck.service.text import plain, without_prefixes, without_quiet_lines, without_warnings

WINDOW_BYTES = 2**20
OVERLAP_BYTES = 2**14
"""Longer than any text that one pattern may span."""
KEPT_LINES = 2000
"""Of the end of the log, for the last error block: lines that are not empty and neither INFO nor DEBUG."""
LINE_CHARACTERS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A known failure at its first place in the log: the matching lines with their numbers, counted from 1."""

    failure: Failure
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The diagnosis of a log; its lines are redacted.

    Attributes:
        cause: the known failure that explains the log best, None if none does.
        others: further known failures in the log, in its order.
        block: the last error block of the log, without repetitions and prefixes; what to read where there is no
            cause.
        lines: how many lines the log has.
    """

    cause: Hit | None
    others: tuple[Hit, ...]
    block: tuple[Line, ...]
    lines: int


def diagnose(log: Path) -> Diagnosis:
    """Read a log file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        handle = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with open(handle, "rb") as stream:
            kind = os.fstat(handle).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
                raise UsageError(f"{log} is {'a folder' if stat.S_ISDIR(kind) else 'a device'}, not a log file")
            os.set_blocking(handle, True)
            return diagnose_stream(stream)
    except OSError as error:
        raise UsageError(f"cannot read {log}: {error.strerror}") from error


def diagnose_stream(stream: BinaryIO, known: Catalogue | None = None) -> Diagnosis:
    """Read a log from an open stream, in bounded memory."""
    known = known or catalogue()
    hits: dict[str, Hit] = {}
    tail: list[Line] = []
    lines = 0
    for first_line, fresh_line, raw in _windows(stream):
        text = _cleaned(raw, known)
        for failure in known.failures:
            if failure.id not in hits and (hit := _search(failure, text, first_line)):
                hits[failure.id] = hit
        loud = without_prefixes(without_warnings(without_quiet_lines(raw)))
        tail = (tail + _numbered(loud, first_line, fresh_line))[-KEPT_LINES:]
        lines = first_line + text.count("\n") - text.endswith("\n")
    block = last_error(tail, _generic(known))
    ordered = sorted(hits.values(), key=lambda hit: hit.lines[0].number)
    cause = _best(ordered, block)
    others = tuple(_shown(hit) for hit in ordered if hit is not cause)
    return Diagnosis(cause=_shown(cause) if cause else None, others=others, block=_redacted(block), lines=lines)


def _windows(stream: BinaryIO) -> Iterator[tuple[int, int, str]]:
    """Windows of the stream: the number of the first line, that of the first line not seen before, the text."""
    carried, first_line, fresh_line = b"", 1, 1
    while data := stream.read(WINDOW_BYTES):
        window = carried + data
        yield first_line, fresh_line, plain(window.decode("utf-8", "replace"))
        cut = max(0, len(window) - OVERLAP_BYTES)
        line_end = window.find(b"\n", cut)
        cut = line_end + 1 if line_end >= 0 else cut
        fresh_line = first_line + window.count(b"\n")
        first_line += window.count(b"\n", 0, cut)
        carried = window[cut:]


def _cleaned(text: str, known: Catalogue) -> str:
    text = without_prefixes(without_quiet_lines(text))
    for pattern in known.benign:
        while match := pattern.search(text):
            end = text.find("\n", match.end())
            text = text[: text.rfind("\n", 0, match.start()) + 1] + (text[end:] if end >= 0 else "")
    return text


def _numbered(text: str, first_line: int, fresh_line: int) -> list[Line]:
    """The last lines of a window that are not empty and were not in the one before."""
    lines = text.split("\n")
    fresh = range(max(0, fresh_line - first_line), len(lines))
    last = islice((at for at in reversed(fresh) if lines[at] and not lines[at].isspace()), KEPT_LINES)
    return [Line(number=first_line + at, text=lines[at][:LINE_CHARACTERS].rstrip()) for at in reversed(list(last))]


def _search(failure: Failure, text: str, first_line: int) -> Hit | None:
    found = [match for pattern in failure.patterns if (match := pattern.search(text))]
    if not found:
        return None
    match = min(found, key=lambda match: match.start())
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    number = first_line + text.count("\n", 0, start)
    shown = text[start : end if end >= 0 else len(text)].split("\n")
    lines = [
        Line(number=number + offset, text=line[:LINE_CHARACTERS].strip())
        for offset, line in enumerate(shown)
        if line.strip()
    ]
    return Hit(failure=failure, lines=tuple(lines[:5]))


def _shown(hit: Hit) -> Hit:
    return replace(hit, lines=_redacted(hit.lines))


def _redacted(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Each line by itself; a secret that goes on over several lines is a key in PEM, and no log's."""
    return tuple(replace(line, text=without_secrets(line.text)) for line in lines)


def _generic(known: Catalogue) -> tuple[Failure, ...]:
    return tuple(failure for failure in known.failures if failure.severity is Severity.GENERIC)


def _best(hits: list[Hit], block: tuple[Line, ...]) -> Hit | None:
    """The first fatal failure, else the first error; a warning only if the log has no other error."""
    for severity in (Severity.FATAL, Severity.ERROR):
        for hit in hits:
            if hit.failure.severity is severity:
                return hit
    warnings = [hit for hit in hits if hit.failure.severity is Severity.WARNING]
    shown = {line.number for hit in warnings for line in hit.lines}
    return warnings[0] if warnings and all(line.number in shown for line in block) else None
