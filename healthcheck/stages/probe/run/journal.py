"""The write-ahead journal of a run: one JSON line per sample, on disk before the sample counts.

A line is written with one system call, so killing the run loses at most the current line; a torn last line is
dropped when the journal is opened again. Of two lines for the same request the later one counts: a resumed run
retries failed requests.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from healthcheck.errors import KitFailure, UsageError, reason_of
from healthcheck.stages.probe.records import Sample
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

MAX_BYTES = 2**34
MAX_LINE_BYTES = 2**28
_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""A folder from somebody else may have a link, a pipe or a device instead of the journal."""


class Journal:
    """Appends samples to a file, each durable against the death of this process."""

    def __init__(self, path: Path) -> None:
        """Open for appending; a torn last line is cut off.

        Raises:
            UsageError: another process is writing to the journal, or it cannot be opened.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _CAREFUL, 0o644)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise UsageError(msg("{path} is not a file", path=path))
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, _whole_lines(path))
        except BlockingIOError as error:
            raise UsageError(msg("another process is writing to {path}", path=path)) from error
        except OSError as error:
            raise UsageError(
                msg("cannot write to {path}: {reason}", path=path, reason=reason_of(error))
            ) from error

    def append(self, sample: Sample) -> None:
        """Append a sample.

        Raises:
            KitFailure: the sample cannot be written.
        """
        line = memoryview(json_text.dump_line(sample))
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise KitFailure(
                msg("cannot record a sample: {reason}", reason=reason_of(error))
            ) from error

    def close(self) -> None:
        os.fsync(self._file)
        os.close(self._file)


def read(path: Path) -> tuple[Sample, ...]:
    """The samples on record, in dispatch order.

    Raises:
        UsageError: the file cannot be read.
        JsonError: a line other than the last is damaged.
    """
    if not os.path.lexists(path):
        return ()
    if path.is_symlink():
        raise UsageError(msg("{path} is a link: a journal is a file of its own folder", path=path))
    latest: dict[int, Sample] = {}
    for place, line in enumerate(_lines(path), 1):
        try:
            sample = json_text.load_as(line, Sample)
        except JsonError as error:
            raise JsonError(
                msg("{path}:{place}: {error}", path=path, place=place, error=error)
            ) from error
        latest[sample.order] = sample
    return tuple(latest[order] for order in sorted(latest))


def _lines(path: Path) -> Iterator[bytes]:
    """The complete lines one by one, since a journal may be too large to hold twice in memory."""
    try:
        with open(os.open(path, os.O_RDONLY | _CAREFUL), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(msg("{path} is not a file", path=path))
            if status.st_size > MAX_BYTES:
                raise UsageError(
                    msg(
                        "{path} is longer than the {max_bytes} bytes that are read of such a file",
                        path=path,
                        max_bytes=MAX_BYTES,
                    )
                )
            while (line := file.readline(MAX_LINE_BYTES)).endswith(b"\n"):
                yield line
    except OSError as error:
        raise UsageError(
            msg("cannot read {path}: {reason}", path=path, reason=reason_of(error))
        ) from error
    if len(line) == MAX_LINE_BYTES:
        raise UsageError(
            msg(
                "{path} has a line of more than {max_line_bytes} bytes",
                path=path,
                max_line_bytes=MAX_LINE_BYTES,
            )
        )


def _whole_lines(path: Path) -> int:
    """The size of the file up to and including its last line end."""
    end = path.stat().st_size
    with path.open("rb") as file:
        while end:
            start = max(0, end - 2**16)
            file.seek(start)
            place = file.read(end - start).rfind(b"\n")
            if place >= 0:
                return start + place + 1
            end = start
    return 0
