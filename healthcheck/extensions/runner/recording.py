"""A recorded machine in a file: the queries and their answers.

Texts are stored as lists of lines, so that people can read, compare and write such files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from healthcheck import __version__
from healthcheck.errors import KitFailure, UsageError, reason_of
from healthcheck.extensions.runner.redact import redactor
from healthcheck.extensions.runner.whole_machine import ReadSpeed, Space, WholeMachine
from healthcheck.machine.interface import NOT_RECORDED, Entry, Output
from healthcheck.machine.steps import has_number_beyond_64_bits
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded, write_atomically
from healthcheck.system.json_text import JsonError
from healthcheck.system.processes import Listener
from healthcheck.text.messages import msg
from healthcheck.text.redact import redacted
from healthcheck.text.secret_shapes import REMOVED

SCHEMA = 1
_PLAIN_HOSTS = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "*", ""}  # noqa: S104 - names of no machine
# In /proc/*/cgroup: the ids of containers and pods, which are meaningless outside their host.
_IDS = re.compile(r"[0-9a-f]{8,}(?:[-_][0-9a-f]{4,})*")
# In `id`: the names in parentheses, except those that the checks need.
_NAMES = re.compile(r"(?<=\()(?!(?:root|HwHiAiUser|docker)\))[^()]*(?=\))")
MAX_FILE_BYTES = 16 * 2**20
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOutput:
    """An Output with its texts as lines."""

    status: int | None = None
    stdout: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    trouble: str = ""

    def output(self) -> Output:
        stdout, stderr = "\n".join(self.stdout), "\n".join(self.stderr)
        return Output(status=self.status, stdout=stdout, stderr=stderr, trouble=self.trouble)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded machine. Anything not in it is unknown.

    Attributes:
        commands: by their words, separated by spaces.
        children: by their name and arguments, separated by spaces.
        files: their lines; None for a requested file that does not exist.
        variables: None for a requested variable that is not set.
        about: a description of the machine, in hand-written recordings.
    """

    schema: int = SCHEMA
    kit: str = ""
    about: str = ""
    commands: dict[str, RecordedOutput] = field(default_factory=dict)
    children: dict[str, RecordedOutput] = field(default_factory=dict)
    files: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    paths: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    spaces: dict[str, Space | None] = field(default_factory=dict)
    sizes: dict[str, int | None] = field(default_factory=dict)
    read_speeds: dict[str, ReadSpeed | None] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    ports: dict[str, tuple[Listener, ...]] = field(default_factory=dict)


def load(path: Path) -> Recording:
    """Read a recording.

    Raises:
        UsageError: the file cannot be read, is too long, or is not a recording.
    """
    try:
        data = read_bounded(path, MAX_FILE_BYTES)
        recording = json_text.load_as(data, Recording)
        if has_number_beyond_64_bits(json_text.load(data)):
            raise UsageError(msg("{path} is not a recorded machine: it has a number beyond 64 bits", path))
    except JsonError as error:
        raise UsageError(msg("{path} is not a recorded machine: {error}", path, error)) from error
    if recording.schema != SCHEMA:
        schemas = recording.schema, SCHEMA
        raise UsageError("{path} has schema {schema}; this kit reads schema {schema2}", path, *schemas)
    return recording


class RecordedMachine:
    """A machine that answers from a recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        del timeout_s
        return self._recording.commands.get(" ".join(command), _UNKNOWN).output()

    def python(
        self, program: Path, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        del sourced, timeout_s
        return self._recording.children.get(" ".join((program.stem, *arguments)), _UNKNOWN).output()

    def read(self, path: str) -> str | None:
        lines = self._recording.files.get(path)
        return None if lines is None else "\n".join(lines)

    def paths(self, pattern: str) -> tuple[Entry, ...]:
        return self._recording.paths.get(pattern, ())

    def space(self, path: str) -> Space | None:
        return self._recording.spaces.get(path)

    def size(self, folder: str) -> int | None:
        return self._recording.sizes.get(folder)

    def read_speed(self, folder: str) -> ReadSpeed | None:
        return self._recording.read_speeds.get(folder)

    def variable(self, name: str) -> str | None:
        return self._recording.variables.get(name)

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        return self._recording.ports.get(str(port), ())


_UNKNOWN = RecordedOutput(trouble=NOT_RECORDED)


class Recorder:
    """Forwards every query, and records the answers, redacted.

    Queries are redacted too. A replay requests the same paths, because it derives them from the redacted variables
    and texts of the recording.
    """

    def __init__(self, machine: WholeMachine) -> None:
        self._machine = machine
        self._redact = redactor()
        self.recording = Recording(kit=__version__)

    def save(self, path: Path) -> None:
        """Write the recording.

        Raises:
            KitFailure: the file cannot be written.
        """
        try:
            write_atomically(path, json_text.dump(self.recording))
        except OSError as error:
            raise KitFailure(msg("cannot write {path}: {reason}", path, reason_of(error))) from error

    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        output = self._machine.run(*command, timeout_s=timeout_s)
        said = self._recorded(output)
        if command == ("id",):
            said = replace(said, stdout=tuple(_NAMES.sub(REMOVED, line) for line in said.stdout))
        self.recording.commands[self._redact(" ".join(command))] = said
        return output

    def python(
        self, program: Path, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        output = self._machine.python(program, *arguments, sourced=sourced, timeout_s=timeout_s)
        self.recording.children[" ".join((program.stem, *arguments))] = self._recorded(output)
        return output

    def read(self, path: str) -> str | None:
        text = self._machine.read(path)
        shown = _IDS.sub(REMOVED, text) if text and path.endswith("/cgroup") else text
        self.recording.files[self._redact(path)] = None if shown is None else self._lines(shown)
        return text

    def paths(self, pattern: str) -> tuple[Entry, ...]:
        return self._kept(self.recording.paths, pattern, self._machine.paths(pattern))

    def space(self, path: str) -> Space | None:
        return self._kept(self.recording.spaces, path, self._machine.space(path))

    def size(self, folder: str) -> int | None:
        return self._kept(self.recording.sizes, folder, self._machine.size(folder))

    def read_speed(self, folder: str) -> ReadSpeed | None:
        return self._kept(self.recording.read_speeds, folder, self._machine.read_speed(folder))

    def variable(self, name: str) -> str | None:
        value = self._machine.variable(name)
        self._kept(self.recording.variables, name, value and _without_hosts(name, value))
        return value

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        found = self._machine.port_holders(port)
        shown = tuple(each if each.loopback else replace(each, address=_host(each.address)) for each in found)
        self._kept(self.recording.ports, str(port), shown)
        return found

    def _kept(self, answers: dict[str, Answer], question: str, answer: Answer) -> Answer:
        answers[self._redact(question)] = redacted(answer, self._redact)
        return answer

    def _recorded(self, output: Output) -> RecordedOutput:
        stdout, stderr = self._lines(output.stdout), self._lines(output.stderr)
        return RecordedOutput(status=output.status, stdout=stdout, stderr=stderr, trouble=output.trouble)

    def _lines(self, text: str) -> tuple[str, ...]:
        return tuple(self._redact(text).split("\n")) if text else ()


def _without_hosts(name: str, value: str) -> str:
    """The value of a variable without private addresses."""
    if name.lower().endswith("no_proxy"):
        return ",".join(map(_host, value.split(",")))
    addresses = name.lower().endswith("_proxy") or name == "KUBERNETES_SERVICE_HOST"
    return _host(value) if addresses else value


def _host(text: str) -> str:
    return text if text.strip().lower() in _PLAIN_HOSTS else REMOVED
