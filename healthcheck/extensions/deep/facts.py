"""The result of vLLM's and vllm-ascend's own code for the recorded arguments, gathered once in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from healthcheck.ascend import hardware, stacks
from healthcheck.ascend.hardware import Npu
from healthcheck.ascend.stacks import Row
from healthcheck.extensions.deep import child, request
from healthcheck.extensions.deep.environment import (
    MAKE,
    OPTION,
    Environment,
    Interpreter,
    find_python,
    look,
)
from healthcheck.extensions.deep.request import Question
from healthcheck.stages.plan.records import ServerCommand
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

LEAVE_DEEP_OUT = msg("verify without --deep: the launch itself decides this")


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """The error that ended the build.

    Attributes:
        kinds: names of the error's type and its base types, nearest first.
        raised_in: file and line as the package names them ("vllm/config/model.py:1191"), "" if unknown.
        deliberate: whether that line is a raise statement, or a declared type was not met.
        from_stub: whether code requested a value that a stub of torch_npu does not have.
    """

    kinds: tuple[str, ...]
    text: str
    raised_in: str
    deliberate: bool
    from_stub: bool

    @property
    def kind(self) -> str:
        return next(iter(self.kinds), msg("an unnamed error"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """An option of the submission that has another value in the configuration.

    Attributes:
        option: the option as given.
        given, now: the two values; `now` is "" if unknown.
        said: vllm-ascend's message, "" if there was none.
    """

    option: str
    given: str
    now: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The stage that the build reached: "begin", "import", "parse", "validate", "build" or "done"."""

    stage: str
    error: Raised | None
    resets: tuple[Reset, ...] = ()
    built: Mapping[str, bool | int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trouble:
    """The reason that the engine gave no answer although it could have, and the repair."""

    seen: str
    fix: str = LEAVE_DEEP_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """The question, the environment, and its answer.

    Attributes:
        stack: the chosen row; "" is the default.
        obstacle: why the question does not apply, or "".
        trouble: why the engine gave no answer; None if it gave one.
    """

    server: ServerCommand | None
    row: Row
    npu: Npu
    devices: int
    stack: str = ""
    environment: Environment | None = None
    obstacle: str = ""
    trouble: Trouble | None = None
    answer: Answer | None = None


def gather_engine_config(question: Question) -> EngineConfig:
    """Query the environment, unless that is pointless.

    Raises:
        UsageError: the named Python does not exist.
    """
    server = question.plan.server
    row = stacks.row(question.plan.stack or stacks.DEFAULT)
    npu = hardware.find(question.npu or hardware.ASSUMED)[0]
    devices = question.devices or npu.devices
    found = EngineConfig(server=server, row=row, npu=npu, devices=devices, stack=question.plan.stack)
    obstacle = request.obstacle(question, npu)
    if obstacle or server is None:
        return replace(found, obstacle=obstacle)
    python = find_python(question.engine_python)
    if python is None:
        seen = msg("no environment with vllm {vllm} and {label} was found", row.vllm[0], row.label())
        return replace(found, trouble=Trouble(seen, msg("run {make}", MAKE)))
    found = replace(found, environment=look(python))
    unfit = _unfit(found) or _unread(server)
    if unfit:
        return replace(found, trouble=unfit)
    asked = request.request(question, server, npu, row.vllm[0])
    variables = request.variables(server, npu, found.devices)
    told = child.run(python.path, "build_engine_config.py", asked, variables, question.deadline_s)
    try:
        answer = json_text.load_as(told.answer, Answer)
    except JsonError as error:
        seen = msg("the environment's answer cannot be read ({trouble})", told.trouble or error)
        return replace(found, trouble=Trouble(seen, _again(python)))
    if answer.stage != "done" and answer.error is None:
        trouble = told.trouble or msg("it ended without output")
        seen = msg("building came as far as its stage “{stage}”: {trouble}", answer.stage, trouble)
        return replace(found, trouble=Trouble(seen, _again(python)))
    return replace(found, answer=answer)


def _unfit(found: EngineConfig) -> Trouble | None:
    """Why the environment does not represent the row."""
    environment, row = found.environment, found.row
    if environment is None:
        return None
    python = environment.python
    if environment.trouble:
        seen = msg("{path} ({named_by}): {trouble}", python.path, python.named_by, environment.trouble)
        return Trouble(seen, _again(python))
    if not environment.differs(row):
        return None
    seen = msg("{path} ({named_by}) has {label}", python.path, python.named_by, environment.label())
    wanted = msg("vllm {vllm} and {label}", row.vllm[0], row.label())
    versions = f"--vllm {row.vllm[0]} --vllm-ascend {row.vllm_ascend}"
    named = (wanted, OPTION, versions)
    fix = msg(
        "name a Python with {wanted} with {option}; scripts/make_engine_config.py FOLDER {versions} makes one",
        *named,
    )
    return Trouble(msg("{seen}, and the chosen row has {wanted}", seen, wanted), fix)


def _unread(server: ServerCommand) -> Trouble | None:
    """Why the arguments are not fully known."""
    if not server.unread_config:
        return None
    file = server.unread_config
    seen = msg("{unread_config} is too long to be read here, and its options belong to the question", file)
    return Trouble(seen, msg("keep the file to options and their values, or verify without --deep"))


def _again(python: Interpreter) -> str:
    return msg(
        "run it once more when the machine is less busy, or recreate the environment {named_by}: {make}",
        python.named_by,
        MAKE,
    )
