"""Standard output and standard error that survive a full disk or a closed pipe.

The run continues to its end: its verdict and its files do not depend on a reader.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import re
import select
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from healthcheck.errors import ExitStatus, reason_of
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


ESCAPED = "npu-adapter-escaped"
"""The error handler of both streams: every text and every path can be written in every encoding."""


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encode one character: an escaped byte of a path as that byte, a character that the encoding lacks escaped."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start]
    if "\udc80" <= wrong <= "\udcff":
        return bytes([ord(wrong) - 0xDC00]), error.start + 1
    return wrong.encode("ascii", "backslashreplace").decode("ascii"), error.start + 1


codecs.register_error(ESCAPED, _escaped)


class Outlet(io.FileIO):
    """Keeps the first error of a stream, drops what cannot be written, and waits for a slow reader.

    It also waits if the parent process made the stream non-blocking.
    """

    error: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write or drop the data; returns the number of bytes handled."""
        try:
            while (written := super().write(data)) is None:
                select.select((), (self,), ())
        except OSError as error:
            self.error = self.error or error
            return memoryview(data).nbytes
        return written


class Uncommanding(io.TextIOWrapper):
    """A text stream in which a GitHub runner finds no commands (`::error …::`, `##[group]`) but the kit's own.

    A zero-width character breaks up whatever would begin a command, anywhere in a line.
    """

    _before = ""

    def write(self, text: str, /) -> int:
        """Write text that may contain text of others."""
        written = without_commands(self._before + text)[len(without_commands(self._before)) :]
        self._before = (self._before + text)[-2:]
        super().write(written)
        return len(text)

    def write_command(self, line: str) -> None:
        """Write a line of the kit's own, in which text of others is escaped."""
        self._before = ""
        super().write(f"{line}\n")


_COMMAND = re.compile(r":(?=:)|##(?=\[)")


def without_commands(text: str) -> str:
    """The text with a zero-width character inside whatever begins a command of a GitHub runner.

    The runner searches for `::` at the beginning of a line and for `##[` anywhere (its ActionCommand.cs). If it
    ignores that character, it reads the command's name from one place too early and knows no such command.
    """
    return _COMMAND.sub("\\g<0>\u2060", text)


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """In this context, no write to the process's two streams fails; streams that a test replaced stay.

    Raises:
        SystemExit: at its end, with `ExitStatus.KIT_FAILED`, if standard output could not be written. A reader that
            ends early, as `head` does, is not an error.
    """
    out, err = sys.stdout, sys.stderr
    if out is not sys.__stdout__ or err is not sys.__stderr__:
        yield
        return
    if sys.stdin is None:  # closed by <&-
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    outlet = _outlet(out)
    outlets = sys.stdout, sys.stderr = _text(outlet, out), _text(_outlet(err), err)
    try:
        yield
    finally:
        sys.stdout.flush()
        lost = outlet.error if outlet.error and outlet.error.errno != errno.EPIPE else None
        if lost:
            tell(msg("cannot write standard output: {reason}", reason=reason_of(lost)))
        sys.stdout, sys.stderr = out, err
        for text in outlets:
            text.close()
        if lost:
            raise SystemExit(ExitStatus.KIT_FAILED)


def tell(said: str) -> None:
    """Say something about the run itself, beside its result: on standard error."""
    print(f"npu-adapter: {translation_of_the_process().say(said)}", file=sys.stderr)


def _outlet(stream: TextIO | None) -> Outlet:
    if stream is None:
        # Closed by >&-: writing fails on this descriptor as well, and no file gets the stream's number.
        return Outlet(os.open(os.devnull, os.O_RDONLY), "wb")
    return Outlet(stream.fileno(), "wb", closefd=False)


def _text(outlet: Outlet, like: TextIO | None) -> io.TextIOWrapper:
    """A text stream with the encoding of `like`, which buffers lines if that stream does."""
    at_once = isinstance(like, io.TextIOWrapper) and (like.line_buffering or like.write_through)
    kind = Uncommanding if os.environ.get("GITHUB_ACTIONS") == "true" else io.TextIOWrapper
    encoding = like.encoding if like else "utf-8"
    return kind(
        io.BufferedWriter(outlet), encoding=encoding, errors=ESCAPED, line_buffering=at_once
    )
