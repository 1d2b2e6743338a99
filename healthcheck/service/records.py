"""The facts of the service stage as plain records."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from healthcheck.processes import Listener, Process
from healthcheck.service.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class PortFacts:
    """Who keeps the port before the launch; nobody if `holders` is empty."""

    port: int
    holders: tuple[Listener, ...] = ()


class LaunchOutcome(enum.Enum):
    """How a launch came out, named for what it is."""

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
    """One step of a start as its log tells it, `at_s` seconds after the launch."""

    name: str
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The last exchange with a server that was not ready yet, in words.

    Attributes:
        request: what was asked ("POST /v1/chat/completions").
        status: the HTTP status, 0 if no response came.
        text: the response's text or the transport's error, shortened.
    """

    request: str
    status: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What happened from the start of deploy.sh until the first answer, or instead of it.

    Attributes:
        command: the interpreter and script as they were run, in the folder `cwd`.
        pid: deploy.sh's process.
        seconds: from the start until the outcome was known.
        ready_s: from the start until the first correct streamed completion; None if none came.
        deadline_s: how long a start may take; the service's own limit is unknown.
        exit_status: deploy.sh's exit status, negative for a signal, None while it ran.
        port: the port that was asked.
        holders: who had the port before the launch.
        listeners: who listens on the port now.
        other_ports: further sockets on which processes of the launch listen.
        foreign: listeners on the port that are none of the launch's processes; `contained` where one is another
            container's.
        processes: the launch's living processes when the outcome was known.
        restarted: the command line that was started again and again, and how often.
        model: the model name that was asked for.
        answer: the last answer of a server that never became ready.
        oom_kills: how many processes the kernel killed for want of memory meanwhile; None if it does not say.
        log: where the output is; `log_tail` its last lines.
        withheld: names of the caller's variables that deploy.sh was not given.
        diagnosis: what the log says about a failed launch.
        diagnosed: the file in which that stands: the log, or another one that deploy.sh sent output to.
        not_here: what the launch missed that the service's image has and this machine has not, in words.
    """

    outcome: LaunchOutcome
    command: tuple[str, ...]
    log: Path
    port: int
    deadline_s: float
    cwd: Path | None = None
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
    diagnosis: Diagnosis | None = None
    diagnosed: Path | None = None
    not_here: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """A look at the running service.

    Attributes:
        exit_status: deploy.sh's, None while it runs.
        listeners: who listens on the port now.
        gone: processes that listened when the service became ready and are no more.
        restarted: whether processes listen now that did not when the service became ready.
    """

    running: bool
    exit_status: int | None = None
    listeners: tuple[Listener, ...] = ()
    gone: tuple[Process, ...] = ()
    restarted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipMemory:
    """One chip of this machine: its name, its memory in use, and the processes that hold it where that is said."""

    chip: str
    used_bytes: int
    holders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Memory that a launch took and did not give back; `chip` as it is now."""

    chip: ChipMemory
    before_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """How the service ended.

    Attributes:
        before: the last look at it before it was asked to stop.
        seconds: from SIGTERM until its last process was gone.
        grace_s: how long it had before SIGKILL.
        killed: names of the processes that SIGTERM did not end, by pid.
        survivors: processes that nothing ended.
        holders: who keeps the port afterwards.
        memory_kept: the chips whose memory was not given back within `memory_waited_s`.
    """

    before: Alive
    seconds: float
    grace_s: float
    killed: tuple[tuple[int, str], ...] = ()
    survivors: tuple[Process, ...] = ()
    holders: tuple[Listener, ...] = ()
    memory_kept: tuple[Kept, ...] = ()
    memory_waited_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A whole launch: how it came up, and how it ended; `diagnosis` where it died in between."""

    launch: Launch
    stopped: Stopped
    diagnosis: Diagnosis | None = None
