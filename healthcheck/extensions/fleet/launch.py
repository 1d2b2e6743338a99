"""One attempt at a job on this machine: `verify` as a child process, its report folder, its result.

The checks of the machine itself, `npu-adapter runner`, run in the same way.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from healthcheck.core.extensions import known_stages
from healthcheck.extensions.fleet import leash, pack, readback
from healthcheck.extensions.fleet.records import Attempt, Ending
from healthcheck.system import files, programs
from healthcheck.text.messages import msg

GRACE_S = 120.0
"""The time for `verify` to end its launch and write its report; a server may take a minute to free its devices."""
TICK_S = 0.2
LOG = "verify.log"
REPORT = "report"
DEVICES = "ASCEND_RT_VISIBLE_DEVICES"
_STAGE = re.compile(r"^ *[\d.]+ s  ([a-z][a-z0-9-]*): ", re.MULTILINE)
_START = (
    "import os, sys; from healthcheck.__main__ import main; os.chdir(sys.argv.pop(1)); "
    "sys.argv[0] = 'npu-adapter'; sys.exit(main())"
)
"""Imports the kit before changing the folder: a folder of the same name there must not be imported instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The description of one attempt for a machine.

    Attributes:
        packed: the repository to verify; None to examine the machine itself.
        words: options of `verify`, or of `runner`.
        folder: the base of relative paths in the options.
        own_network: whether the launch has a network of its own, in which port 8000 is always free.
    """

    job: str
    digest: str
    number: int
    packed: pack.Packed | None
    words: tuple[str, ...] = field(repr=False)
    folder: str
    limit_s: float
    own_network: bool = False

    @property
    def lost(self) -> Attempt:
        """The attempt as long as no result is known."""
        commit = self.packed.hash if self.packed else ""
        return Attempt(
            job=self.job, digest=self.digest, number=self.number, ending=Ending.LOST, commit=commit
        )


def launch(order: Order, place: Path) -> Iterator[str | Attempt]:
    """Verify, or examine the machine; yields the name of the current stage every TICK_S, and finally the attempt.

    An early end of the iteration (close, an exception, the death of this process) ends the launch, and waits for
    its end if possible. `place` is the folder of the attempt; it is emptied first.

    Raises:
        UsageError: the repository cannot be unpacked here.
    """
    files.remove_tree(str(place))
    place.mkdir(parents=True)
    begin = time.monotonic()
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    temporary = tempfile.mkdtemp(prefix=files.prefix())
    try:
        verified = (
            ("verify", str(pack.unpack(order.packed, Path(temporary))))
            if order.packed
            else ("runner",)
        )
        child = _Child(order, verified, place)
        try:
            while not child.ended(TICK_S):
                if time.monotonic() - begin > order.limit_s:
                    child.end()
                yield child.stage()
        finally:
            child.end()
            child.wait()
    finally:
        files.remove_tree(temporary)
    attempt = replace(
        order.lost,
        ending=Ending.TIME_LIMIT if child.was_told_to_end else Ending.DONE,
        node=socket.gethostname(),
        devices=tuple(filter(None, os.environ.get(DEVICES, "").split(","))),
        started=started,
        seconds=round(time.monotonic() - begin, 3),
        status=child.status,
    )
    yield with_report(attempt, place)


def with_report(attempt: Attempt, place: Path) -> Attempt:
    """The attempt with the facts of its report, or the reason why there is none."""
    try:
        return replace(attempt, report=readback.facts(place / REPORT))
    except readback.UnreadableError as error:
        last = readback.last_words(place / LOG)
        return replace(
            attempt,
            said=msg("{error}; its last line: {last}", error=error, last=last)
            if last
            else str(error),
        )


class _Child:
    """`verify` or `runner` on its leash; its output goes to the log."""

    def __init__(self, order: Order, command: tuple[str, ...], place: Path) -> None:
        self.status: int | None = None
        self.was_told_to_end = False
        self._stage = ""
        self._known = {stage.name for stage in known_stages()}
        self._log = place / LOG
        home = order.folder if os.path.isdir(order.folder) else "/"
        out = ("--out", str(place.absolute() / REPORT), "--verbose")
        terms = (f"{GRACE_S}", "own" if order.own_network else "node", str(self._log.absolute()))
        kit = (programs.python(), "-c", _START, home, *command, *out, *order.words)
        held = (programs.python(), "-I", "-S", leash.__file__, *terms, *kit)
        self._process = subprocess.Popen(
            held, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ended(self, wait_s: float) -> bool:
        """Whether the command has ended; waits up to `wait_s` seconds."""
        output = self._process.stdout
        if output is None or output.closed:
            return True
        if not select.select([output], [], [], wait_s)[0]:
            return False
        with contextlib.suppress(ValueError):
            self.status = int(output.read(100) or b"")
        output.close()
        return True

    def end(self) -> None:
        """End the command, if it still runs."""
        if self._process.stdin and not self._process.stdin.closed and not self.ended(0):
            self.was_told_to_end = True
            self._process.stdin.close()

    def wait(self) -> None:
        """Wait until the command has ended or must have been killed."""
        end = time.monotonic() + 2 * GRACE_S
        while not self.ended(TICK_S) and time.monotonic() < end:
            pass
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.wait()

    def stage(self) -> str:
        """The current stage according to its log, "" before the first."""
        found = [name for name in _STAGE.findall(readback.tail(self._log)) if name in self._known]
        self._stage = found[-1] if found else self._stage
        return self._stage
