"""Records a machine for `runner --save`: forwards every query, and keeps the answers without private data."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from healthcheck import __version__
from healthcheck.errors import KitFailure, reason_of
from healthcheck.extensions.runner import private
from healthcheck.extensions.runner.recording import Answers, Asked, RecordedOutput, Recording
from healthcheck.extensions.runner.records import Wanted
from healthcheck.extensions.runner.whole_machine import ReadSpeed, Space, WholeMachine
from healthcheck.machine.interface import Entry, Interrupted, Output
from healthcheck.system import json_text
from healthcheck.system.files import write_atomically
from healthcheck.system.processes import Listener
from healthcheck.text.messages import msg
from healthcheck.text.redact import redacted
from healthcheck.text.secret_shapes import REMOVED

MAX_CHARACTERS = 2 * 2**20
"""Characters of all texts together, without the lines that mark cut ones.

The file must be small enough for an issue. Most recordings have about 100 kB.
"""
CUT = "(the recording is full: the rest was left out)"
"""The last line of a text that was cut. An empty text would look like an output without any problems."""
Answer = TypeVar("Answer")


class Recorder:
    """A machine that forwards queries to a real one.

    Queries are redacted as well. A replay makes the same ones, because it derives them from the redacted variables
    and texts of the recording.
    """

    def __init__(self, machine: WholeMachine, wanted: Wanted) -> None:
        self._machine = machine
        self._redact = private.redactor()
        self._room = MAX_CHARACTERS
        asked = Asked(
            npus=wanted.npus,
            allow_none=wanted.allow_none,
            stack=wanted.stack,
            level=wanted.depth,
            soak_s=wanted.soak_s,
        )
        now = dt.datetime.now(tz=dt.timezone.utc).isoformat(timespec="seconds")
        self.recording = Recording(kit=__version__, at=now, asked=asked)

    def save(self, path: Path) -> None:
        """Write the recording.

        Raises:
            KitFailure: the file cannot be written.
        """
        try:
            write_atomically(path, json_text.dump(self.recording))
        except OSError as error:
            raise KitFailure(
                msg("cannot write {path}: {reason}", path=path, reason=reason_of(error))
            ) from error

    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        output = self._machine.run(*command, timeout_s=timeout_s)
        shown = output
        if command == ("id",):
            shown = replace(output, stdout=private.accounts(output.stdout))
        self._keep(self.recording.commands, " ".join(command), shown)
        return output

    def python(
        self, program: Path, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        words = " ".join((program.stem, *arguments))
        try:
            output = self._machine.python(program, *arguments, sourced=sourced, timeout_s=timeout_s)
        except Interrupted as cut:
            self._keep(self.recording.children, words, cut.output)
            raise
        self._keep(self.recording.children, words, output)
        return output

    def read(self, path: str) -> str | None:
        text = self._machine.read(path)
        shown = private.container_ids(text) if text and path.endswith("/cgroup") else text
        self.recording.files[self._redact(path)] = None if shown is None else self._lines(shown)
        return text

    def paths(self, pattern: str) -> tuple[Entry, ...]:
        found = self._machine.paths(pattern)
        shown = (
            replace(entry, owner=private.account(entry.owner), group=private.account(entry.group))
            for entry in found
        )
        self._keep_record(self.recording.paths, pattern, tuple(shown))
        return found

    def space(self, path: str) -> Space | None:
        found = self._machine.space(path)
        self._keep_record(self.recording.spaces, path, found)
        return found

    def read_speed(self, folder: str) -> ReadSpeed | None:
        found = self._machine.read_speed(folder)
        self._keep_record(self.recording.read_speeds, folder, found)
        return found

    def variable(self, name: str) -> str | None:
        value = self._machine.variable(name)
        shown = REMOVED if value and name == "KUBERNETES_SERVICE_HOST" else value
        self._keep_record(self.recording.variables, name, shown)
        return value

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        found = self._machine.port_holders(port)
        self._keep_record(self.recording.ports, str(port), found)
        return found

    def _keep(self, answers: dict[str, Answers], words: str, output: Output) -> None:
        """Keep an output, after the earlier outputs of the same query."""
        query = self._redact(words)
        latest = RecordedOutput(
            status=output.status,
            stdout=self._lines(output.stdout),
            stderr=self._lines(output.stderr),
            trouble=self._redact(str(output.trouble)),
        )
        earlier = answers.get(query)
        if earlier is None:
            answers[query] = latest
        elif isinstance(earlier, tuple):
            answers[query] = (*earlier, latest)
        else:
            answers[query] = (earlier, latest)

    def _keep_record(self, answers: dict[str, Answer], query: str, answer: Answer) -> None:
        answers[self._redact(query)] = redacted(answer, self._redact)

    def _lines(self, text: str) -> tuple[str, ...]:
        """The lines of a text without private data, cut if the recording is full."""
        text = self._redact(text)
        kept = text[: self._room]
        self._room -= len(kept)
        lines = tuple(kept.split("\n")) if kept else ()
        return lines if kept == text else (*lines, CUT)
