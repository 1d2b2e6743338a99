"""Diagnoses a log of any length: a cause, possible causes, or the kind of the last error.

The log is read in overlapping windows, so memory stays bounded and a pattern may span lines.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from healthcheck.errors import UsageError, reason_of
from healthcheck.stages.service.blocks import Line, last_error
from healthcheck.stages.service.catalogue import Catalogue, Failure, Severity, catalogue
from healthcheck.stages.service.evidence import Hit, around_block, judged, searched
from healthcheck.stages.service.sayings import advice
from healthcheck.stages.service.text import (
    last_success,
    plain,
    process,
    record,
    without_prefixes,
    without_quiet_lines,
    without_warnings,
)
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

WINDOW_BYTES = 2**20
OVERLAP_BYTES = 2**14
"""More than the text that one pattern may span."""
KEPT_LINES = 2000
"""At the end of the log, for the last error block: non-empty lines that are neither INFO nor DEBUG."""
LINE_CHARACTERS = 600
END_LINES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The diagnosis of a log; its lines are redacted.

    Attributes:
        cause: the known failure that the last error shows or points to; None if none is certain.
        candidates: known failures that may each be the cause, if none is certain.
        kind: the kind of the last error, if it shows no known failure.
        others: further known failures, in the order of the log, including those that the server survived.
        block: the last error block of the log, without repetitions and prefixes.
        end: the last lines of the log that are neither INFO nor DEBUG.
        lines: how many lines the log has.
        ready: the last line that shows a started or answering server, 0 if none does.
    """

    cause: Hit | None = None
    candidates: tuple[Hit, ...] = ()
    kind: Hit | None = None
    others: tuple[Hit, ...] = ()
    block: tuple[Line, ...] = ()
    end: tuple[Line, ...] = ()
    lines: int = 0
    ready: int = 0

    @property
    def named(self) -> Hit | None:
        """The cause, or the kind of the last error if there are no candidates."""
        return self.cause or (None if self.candidates else self.kind)

    @property
    def telling(self) -> tuple[Line, ...]:
        """The lines to read: those of the cause, or the last error block if no cause is certain."""
        return self.cause.lines if self.cause else self.block


UNDIAGNOSED = Diagnosis()
"""The diagnosis of a launch that did not fail."""


@dataclass(slots=True, kw_only=True)
class _Reading:
    """The state of reading a log.

    Attributes:
        passed: the last line that shows a started or answering server.
        survived: failures before that line.
    """

    hits: dict[str, Hit] = field(default_factory=dict)
    survived: dict[str, Hit] = field(default_factory=dict)
    tail: list[Line] = field(default_factory=list)
    end: list[Line] = field(default_factory=list)
    lines: int = 0
    passed: int = 0


def diagnose(log: Path) -> Diagnosis:
    """Read a log file.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        handle = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with open(handle, "rb") as stream:
            kind = os.fstat(handle).st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
                what = msg("a folder") if stat.S_ISDIR(kind) else msg("a device")
                raise UsageError(msg("{log} is {value}, not a log file", log=log, value=what))
            os.set_blocking(handle, True)
            return diagnose_stream(stream)
    except OSError as error:
        raise UsageError(
            msg("cannot read {log}: {reason}", log=log, reason=reason_of(error))
        ) from error


def diagnose_stream(stream: BinaryIO, known: Catalogue | None = None) -> Diagnosis:
    """Read a log from an open stream, in bounded memory."""
    known = known or catalogue()
    reading = _Reading()
    for first_line, fresh_line, raw in _windows(stream):
        _read(reading, known, raw, first_line, fresh_line)
    fresh = [line for line in reading.tail if line.number > reading.passed]
    block = last_error(fresh, known.of(Severity.GENERIC))
    ordered = sorted(reading.hits.values(), key=lambda hit: hit.lines[0].number)
    verdict = judged(ordered, block, fresh, known)
    shown = partial(_advised, last=around_block(block, fresh))
    chosen = {hit.failure.id for hit in (verdict.cause, verdict.kind, *verdict.candidates) if hit}
    found = sorted(
        {**reading.hits, **reading.survived}.values(), key=lambda hit: hit.lines[0].number
    )
    return Diagnosis(
        cause=shown(verdict.cause) if verdict.cause else None,
        candidates=tuple(map(shown, verdict.candidates)),
        kind=shown(verdict.kind) if verdict.kind else None,
        others=tuple(_shown(hit) for hit in found if hit.failure.id not in chosen),
        block=_redacted(block.shown),
        end=_redacted(tuple(reading.end)),
        lines=reading.lines,
        ready=reading.passed,
    )


def _read(reading: _Reading, known: Catalogue, raw: str, first_line: int, fresh_line: int) -> None:
    """Add one window to the reading."""
    reached = last_success(raw)
    if reached >= 0:
        reading.passed = max(reading.passed, first_line + reached)
        before = {id_ for id_, hit in reading.hits.items() if hit.lines[0].number <= reading.passed}
        reading.survived |= {id_: reading.hits.pop(id_) for id_ in before}
    loud = without_quiet_lines(raw)
    text = _without_benign(without_prefixes(loud), known)
    errors = _without_benign(without_prefixes(without_warnings(loud)), known)
    for failure in known.failures:
        if Severity.SYMPTOM <= failure.severity <= Severity.PART:
            continue
        _look_for(
            failure, reading, errors if failure.severity <= Severity.ERROR else text, first_line
        )
    fresh = _numbered(errors, raw, first_line, fresh_line)
    reading.tail = (_complete(reading.tail, fresh_line) + fresh)[-KEPT_LINES:]
    fresh = _numbered(without_prefixes(loud), raw, first_line, fresh_line)
    reading.end = (_complete(reading.end, fresh_line) + fresh)[-END_LINES:]
    reading.lines = first_line + text.count("\n") - text.endswith("\n")


def _look_for(failure: Failure, reading: _Reading, text: str, first_line: int) -> None:
    """Search a window for a failure: the lines up to the last sign of a running server, and the rest."""
    over = _offset(text, reading.passed - first_line + 1)
    if (
        failure.id not in reading.survived
        and over
        and (hit := searched(failure, text[:over], first_line))
    ):
        reading.survived[failure.id] = hit
    start = max(first_line, reading.passed + 1)
    if failure.id not in reading.hits and (hit := searched(failure, text[over:], start)):
        reading.hits[failure.id] = hit


def _complete(lines: list[Line], fresh_line: int) -> list[Line]:
    """The lines without the unfinished last one of a window: the next window has the whole line."""
    return lines[:-1] if lines and lines[-1].number >= fresh_line else lines


def _offset(text: str, lines: int) -> int:
    """The offset after this many lines of the text."""
    parts = text.split("\n", max(0, lines))
    return len(text) - len(parts[-1]) if len(parts) > lines else len(text)


def _windows(stream: BinaryIO) -> Iterator[tuple[int, int, str]]:
    """Windows of the stream: the number of the first line, that of the first new line, and the text."""
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


def _without_benign(text: str, known: Catalogue) -> str:
    """Empty the lines that only look like a failure."""
    found = [pattern for pattern in known.benign if pattern.search(text)]
    if not found:
        return text
    return "\n".join(
        "" if any(each.search(line) for each in found) else line for line in text.split("\n")
    )


def _numbered(text: str, raw: str, first_line: int, fresh_line: int) -> list[Line]:
    """The last non-empty lines of a window that are new, with the processes named in `raw`."""
    lines, decorated = text.split("\n"), raw.split("\n")
    fresh = range(max(0, fresh_line - first_line), len(lines))
    last = islice(
        (at for at in reversed(fresh) if lines[at] and not lines[at].isspace()), KEPT_LINES
    )
    return [
        Line(
            first_line + at,
            lines[at][:LINE_CHARACTERS].rstrip(),
            process(decorated[at]),
            record(decorated[at]),
        )
        for at in reversed(list(last))
    ]


def _shown(hit: Hit) -> Hit:
    return replace(hit, lines=_redacted(hit.lines), stated=without_secrets(hit.stated))


def _advised(hit: Hit, last: tuple[Line, ...]) -> Hit:
    """The hit, with what the log advises in its lines, or beside the last error if these are of it."""
    of_the_last = hit.lines[0].number in {line.number for line in last}
    return replace(
        _shown(hit), advice=advice(_redacted((*hit.lines, *last) if of_the_last else hit.lines))
    )


def _redacted(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Redact each line by itself: only PEM keys span lines, and logs do not contain them."""
    return tuple(replace(line, text=without_secrets(line.text)) for line in lines)
