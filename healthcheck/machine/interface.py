"""What a machine is asked.

Every answer is plain, bounded data and never an exception: an unknown value is None, empty, or an Output with the
reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from healthcheck.text.messages import msg

OUTPUT_BYTES = 256 * 1024
"""The most bytes to keep of a command's output or of a file; the rest is dropped."""
MAX_PATHS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The output of a command.

    Attributes:
        status: its exit status (negative: the signal that ended it); None if it did not finish.
        trouble: why it did not ("no such program", "no end within 20 s"), or "".
    """

    status: int | None
    stdout: str = ""
    stderr: str = ""
    trouble: str = ""

    @property
    def text(self) -> str:
        """Both streams, standard output first: tools of the driver report errors on either."""
        return "\n".join(part for part in (self.stdout.rstrip(), self.stderr.rstrip()) if part)

    @property
    def missing(self) -> bool:
        """Whether the program does not exist."""
        return self.trouble == NO_PROGRAM


NO_PROGRAM = msg("no such program")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came while a program ran. The program was ended; `output` is its output so far."""

    def __init__(self, output: Output) -> None:
        super().__init__(msg("interrupted"))
        self.output = output


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An existing path.

    Attributes:
        mode: permission bits, such as 0o660.
        readable, writable: whether this user may.
        modified_s: seconds since the epoch.
        target: the final target of a symbolic link, "" for anything else.
    """

    path: str
    mode: int = 0o644
    owner: str = ""
    group: str = ""
    readable: bool = True
    writable: bool = True
    modified_s: float = 0.0
    target: str = ""

    @property
    def closed(self) -> bool:
        """Whether this user may not read and write it."""
        return not (self.readable and self.writable)


class Machine(Protocol):
    """The queries of a machine."""

    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        """Run a command with LC_ALL=C and wait for it."""

    def python(
        self, program: Path, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        """Run a program of the kit in the Python that would serve, after sourcing these environment scripts."""

    def read(self, path: str) -> str | None:
        """The text of a regular file or of a file in /proc or /sys; None if it cannot be read."""

    def paths(self, pattern: str) -> tuple[Entry, ...]:
        """The matches of a glob pattern, by name; at most MAX_PATHS."""

    def variable(self, name: str) -> str | None:
        """One environment variable."""


def called(
    machine: Machine, name: str, places: Iterable[str], *arguments: str
) -> tuple[str, Output]:
    """A program's output, and how it was called: by its name, or by the first existing of these paths."""
    output = machine.run(name, *arguments)
    for place in places if output.missing else ():
        if machine.paths(place):
            return place, machine.run(place, *arguments)
    return name, output
