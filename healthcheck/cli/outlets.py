"""Standard output and standard error that outlive a full disk or a reader that went away.

A run goes on to its end then: its verdict and its files do not depend on who reads along.
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
    """The byte that a path really has, as Python reads it; characters that the encoding lacks become escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start]
    if "\udc80" <= wrong <= "\udcff":
        return bytes([ord(wrong) - 0xDC00]), error.start + 1
    return wrong.encode("ascii", "backslashreplace").decode("ascii"), error.start + 1


codecs.register_error(ESCAPED, _escaped)


class Outlet(io.FileIO):
    """Keeps the first error of a stream, drops what cannot be written, and waits for a slow reader.

    It waits itself if the stream was made non-blocking by the parent process.
    """

    error: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write, or drop; the number of bytes that are done with."""
        try:
            while (written := super().write(data)) is None:
                select.select((), (self,), ())
        except OSError as error:
            self.error = self.error or error
            return memoryview(data).nbytes
        return written


class Uncommanding(io.TextIOWrapper):
    """Text in which a runner of GitHub finds no command (`::error …::`, `##[group]`), but for those of the kit.

    A character of no width breaks up everything that would begin one, anywhere in a line.
    """

    _before = ""

    def write(self, text: str, /) -> int:
        """Write text that others may have a part in."""
        written = without_commands(self._before + text)[len(without_commands(self._before)) :]
        self._before = (self._before + text)[-2:]
        super().write(written)
        return len(text)

    def write_command(self, line: str) -> None:
        """Write a line of the kit's own, in which the text of others is escaped."""
        self._before = ""
        super().write(f"{line}\n")


_COMMAND = re.compile(r":(?=:)|##(?=\[)")


def without_commands(text: str) -> str:
    """The text with a character of no width inside whatever begins a command of a runner of GitHub.

    The runner looks for `::` at the beginning of a line and for `##[` anywhere (its ActionCommand.cs).
    It may overlook that character, but then takes the name of the command from one place too early, and knows none.
    """
    return _COMMAND.sub("\\g<0>\u2060", text)


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """While it lasts, no write to the two streams of the process fails; replacements by a test stay.

    Raises:
        SystemExit: at its end, with `ExitStatus.KIT_FAILED`, if standard output could not be written. A reader that
            ends early, as `head` does, is not an error.
    """
    out, err = sys.stdout, sys.stderr
    if out is not sys.__stdout__ or err is not sys.__stderr__:
        yield
        return
    if sys.stdin is None:  # it was closed, as with <&-
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    outlet = _outlet(out)
    outlets = sys.stdout, sys.stderr = _text(outlet, out), _text(_outlet(err), err)
    try:
        yield
    finally:
        sys.stdout.flush()
        lost = outlet.error if outlet.error and outlet.error.errno != errno.EPIPE else None
        if lost:
            say = translation_of_the_process().say
            print(
                f"npu-adapter: {say(msg('cannot write standard output: {reason}', reason_of(lost)))}",
                file=sys.stderr,
            )
        sys.stdout, sys.stderr = out, err
        for text in outlets:
            text.close()
        if lost:
            raise SystemExit(ExitStatus.KIT_FAILED)


def _outlet(stream: TextIO | None) -> Outlet:
    if stream is None:
        # It was closed, as with >&-: writing fails here as it does there, and no file gets the stream's number.
        return Outlet(os.open(os.devnull, os.O_RDONLY), "wb")
    return Outlet(stream.fileno(), "wb", closefd=False)


def _text(outlet: Outlet, like: TextIO | None) -> io.TextIOWrapper:
    """A text stream that encodes like the other one, and buffers lines only if that one does."""
    at_once = isinstance(like, io.TextIOWrapper) and (like.line_buffering or like.write_through)
    kind = Uncommanding if os.environ.get("GITHUB_ACTIONS") == "true" else io.TextIOWrapper
    return kind(
        io.BufferedWriter(outlet),
        encoding=like.encoding if like else "utf-8",
        errors=ESCAPED,
        line_buffering=at_once,
    )
