"""The facts of the service stage as plain records."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from healthcheck.stages.service.diagnosis import UNDIAGNOSED, Diagnosis
from healthcheck.stages.service.repairs import UNKNOWN, Setup
from healthcheck.system.processes import Listener, Process


@dataclass(frozen=True, slots=True, kw_only=True)
class PortFacts:
    """The processes that hold the port before the launch."""

    port: int
    holders: tuple[Listener, ...] = ()


class LaunchOutcome(enum.Enum):
    """The outcome of a launch."""

    READY = "ready"
    NOT_STARTED = "not-started"
    EXITED = "exited"
    BACKGROUNDED = "backgrounded"
    RESTARTING = "restarting"
    ANSWERS_WRONGLY = "answers-wrongly"
    OTHER_PORT = "other-port"
    SILENT = "silent"
    TIMED_OUT = "timed-out"
    PORT_TAKEN = "port-taken"
    FOREIGN_LISTENER = "foreign-listener"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One step of a start according to its log, `at_s` seconds after the launch."""

    name: str
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The last answer to a chat, in words, of a server that was not ready yet.

    Attributes:
        status: the HTTP status, 0 if no response came.
        text: the response's text or the transport's error, shortened.
    """

    status: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The launch, from the start of deploy.sh until the first answer or its failure.

    Attributes:
        command: the interpreter and script.
        pid: deploy.sh's process.
        seconds: from the start until the outcome was known.
        ready_s: from the start until the first correct streamed completion; None if none came.
        deadline_s: the most seconds that a start may take; the service's own limit is unknown.
        exit_status: deploy.sh's exit status, negative for a signal, None while it ran.
        port: the port that the server should listen on.
        holders: the processes that held the port before the launch.
        listeners: the processes that listen on the port now.
        other_ports: further sockets on which processes of the launch listen.
        foreign: listeners on the port that do not belong to the launch; `contained` if one is in another container.
        processes: the launch's living processes when the outcome was known.
        restarted: the command line of a restart loop, and its number of starts.
        model: the model name of the requests.
        answer: the last answer of a server that never became ready.
        oom_kills: number of processes that the kernel killed meanwhile because memory ran out; None if unknown.
        log: the file with the output; `log_tail` its last lines.
        withheld: names of the caller's variables that deploy.sh did not get.
        diagnosis: the diagnosis of a failed launch; empty if the launch became ready.
        diagnosed: the diagnosed file: the log, or another output file of deploy.sh.
        setup: options and variables that the repository sets itself, for the words of a repair.
        not_here: software of the service's image that this machine lacks and the launch needed, in words.
    """

    outcome: LaunchOutcome
    command: tuple[str, ...]
    log: Path
    port: int
    deadline_s: float
    pid: int | None = None
    seconds: float = 0.0
    ready_s: float | None = None
    exit_status: int | None = None
    failure: str = ""
    holders: tuple[Listener, ...] = ()
    listeners: tuple[Listener, ...] = ()
    other_ports: tuple[Listener, ...] = ()
    foreign: tuple[Listener, ...] = ()
    contained: bool = False
    processes: tuple[Process, ...] = ()
    restarted: tuple[str, int] = ("", 0)
    model: str = ""
    answer: Answer | None = None
    oom_kills: int | None = None
    log_tail: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    withheld: tuple[str, ...] = ()
    diagnosis: Diagnosis = UNDIAGNOSED
    diagnosed: Path | None = None
    setup: Setup = UNKNOWN
    not_here: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """The state of the running service.

    Attributes:
        exit_status: of deploy.sh; None while it runs.
        listeners: the processes that listen on the port now.
        gone: processes that listened when the service became ready and have since ended.
        restarted: whether new processes listen instead of those that did when the service became ready.
    """

    running: bool
    exit_status: int | None = None
    listeners: tuple[Listener, ...] = ()
    gone: tuple[Process, ...] = ()
    restarted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """How the service ended.

    Attributes:
        before: the last state before SIGTERM.
        seconds: from SIGTERM until its last process was gone.
        grace_s: seconds until SIGKILL.
        killed: names of the processes that SIGTERM did not end, by pid.
        survivors: processes that SIGKILL did not end either.
        holders: the processes that hold the port afterwards.
    """

    before: Alive
    seconds: float
    grace_s: float
    killed: tuple[tuple[int, str], ...] = ()
    survivors: tuple[Process, ...] = ()
    holders: tuple[Listener, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A whole launch: its start and its end, with a diagnosis if it died in between."""

    launch: Launch
    stopped: Stopped
    diagnosis: Diagnosis = UNDIAGNOSED
