"""A recorded machine in a file: the queries and their answers.

Texts are stored as lists of lines, so that people can read, compare and write such files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.whole_machine import ReadSpeed, Space
from healthcheck.machine.installed import ASK_VERSIONS
from healthcheck.machine.interface import MAX_PATHS, OUTPUT_BYTES, Entry, Output
from healthcheck.machine.steps import has_number_beyond_64_bits
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded
from healthcheck.system.json_text import JsonError
from healthcheck.system.processes import Listener
from healthcheck.text.messages import msg

SCHEMA = 1
MAX_FILE_BYTES = 8 * 2**20
MAX_VALUES = 400_000
MAX_LISTENERS = 64
NOT_RECORDED = msg("not in the recording")
NODES = "/dev/davinci[0-9]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOutput:
    """An Output with its texts as lines."""

    status: int | None = None
    stdout: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    trouble: str = ""

    def output(self) -> Output:
        """The output, as long as that of a real program may be."""
        stdout, stderr = (_text(lines) for lines in (self.stdout, self.stderr))
        return Output(status=self.status, stdout=stdout, stderr=stderr, trouble=self.trouble)


Answers = RecordedOutput | tuple[RecordedOutput, ...]
"""The answer to a command; a tuple with the answer of each time if it was repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The expectations and the level of the recorded run, which a replay repeats."""

    npus: int | None = None
    allow_none: bool = False
    stack: str = ""
    level: Depth = Depth.MINUTES
    soak_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded machine. Anything that is not in it is unknown.

    Attributes:
        at: when it was recorded.
        about: a description of the machine, in hand-written recordings.
        commands: by their words, separated by spaces.
        children: by their name and arguments, separated by spaces.
        files: their lines; None for a requested file that does not exist.
        variables: None for a requested variable that is not set.
    """

    schema: int = SCHEMA
    kit: str = ""
    at: str = ""
    about: str = ""
    asked: Asked = field(default_factory=Asked)
    commands: dict[str, Answers] = field(default_factory=dict)
    children: dict[str, Answers] = field(default_factory=dict)
    files: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    paths: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    spaces: dict[str, Space | None] = field(default_factory=dict)
    read_speeds: dict[str, ReadSpeed | None] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    ports: dict[str, tuple[Listener, ...]] = field(default_factory=dict)


def load(path: Path) -> Recording:
    """Read a recording.

    Raises:
        UsageError: the file cannot be read, is too long, or is not the recording of a machine.
    """
    data = read_bounded(path, MAX_FILE_BYTES)
    try:
        recording = json_text.load_few(data, Recording, MAX_VALUES)
        numbers_fit = not has_number_beyond_64_bits(json_text.load(data))
    except JsonError as error:
        raise UsageError(
            msg("{path} is not a recording of runner --save: {error}", path=path, error=error)
        ) from error
    if not numbers_fit:
        raise UsageError(
            msg(
                "{path} is not a recording of runner --save: it has a number beyond 64 bits",
                path=path,
            )
        )
    if recording.schema != SCHEMA:
        raise UsageError(
            msg(
                "{path} has schema {schema}; this kit reads schema {supported}",
                path=path,
                schema=recording.schema,
                supported=SCHEMA,
            )
        )
    lacking = _lacking(recording)
    if lacking:
        raise UsageError(
            msg(
                "{path} is not a whole recording of runner --save: it lacks {lacking}",
                path=path,
                lacking=lacking,
            )
        )
    return recording


def _lacking(recording: Recording) -> str:
    """The first of the queries without which nothing can be judged that the recording does not have."""
    if NODES not in recording.paths:
        return NODES
    if not any(words.endswith("npu-smi info") for words in recording.commands):
        return "npu-smi info"
    return "" if ASK_VERSIONS.stem in recording.children else ASK_VERSIONS.stem


class RecordedMachine:
    """A machine that answers from a recording, within the bounds of a real one. It runs and reads nothing."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._times: dict[str, int] = {}

    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        del timeout_s
        return self._answer(self._recording.commands, " ".join(command))

    def python(
        self, program: Path, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        del sourced, timeout_s
        return self._answer(self._recording.children, " ".join((program.stem, *arguments)))

    def read(self, path: str) -> str | None:
        lines = self._recording.files.get(path)
        return None if lines is None else _text(lines)

    def paths(self, pattern: str) -> tuple[Entry, ...]:
        return self._recording.paths.get(pattern, ())[:MAX_PATHS]

    def space(self, path: str) -> Space | None:
        return self._recording.spaces.get(path)

    def read_speed(self, folder: str) -> ReadSpeed | None:
        return self._recording.read_speeds.get(folder)

    def variable(self, name: str) -> str | None:
        return self._recording.variables.get(name)

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        return self._recording.ports.get(str(port), ())[:MAX_LISTENERS]

    def _answer(self, answers: dict[str, Answers], words: str) -> Output:
        """The answer of this time; the last one repeats."""
        found = answers.get(words, ())
        each = found if isinstance(found, tuple) else (found,)
        if not each:
            return Output(status=None, trouble=NOT_RECORDED)
        time = self._times.get(words, 0)
        self._times[words] = time + 1
        return each[min(time, len(each) - 1)].output()


def _text(lines: tuple[str, ...]) -> str:
    """The lines as one text, cut where a real answer is cut."""
    kept: list[str] = []
    room = OUTPUT_BYTES
    for line in lines:
        if room <= 0:
            break
        kept.append(line[:room])
        room -= len(line) + 1
    return "\n".join(kept)
