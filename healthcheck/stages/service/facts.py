"""Launches deploy.sh as the service would, supervises it until its first answer, and stops all its processes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from io import BytesIO
from pathlib import Path

from healthcheck import contract
from healthcheck.core.progress import Progress
from healthcheck.stages.service.diagnosis import UNDIAGNOSED, Diagnosis, diagnose, diagnose_stream
from healthcheck.stages.service.environment import interpreter, scrubbed
from healthcheck.stages.service.provided import judged
from healthcheck.stages.service.records import (
    Alive,
    Answer,
    Ended,
    Launch,
    LaunchOutcome,
    PortFacts,
    Stopped,
)
from healthcheck.stages.service.repairs import setup_of
from healthcheck.stages.service.supervisor import Supervisor
from healthcheck.stages.service.timeline import Timeline
from healthcheck.stages.service.watch import Patience, Watch
from healthcheck.system import processes
from healthcheck.text.messages import msg

GRACE_S = 30.0
"""From SIGTERM to SIGKILL; vLLM ends within a few seconds."""


def gather_port(port: int = 0) -> PortFacts:
    """The processes that hold the port before the launch; port 0 stands for the service's."""
    port = port or contract.PORT
    return PortFacts(port=port, holders=processes.holders(port))


@dataclass(eq=False, repr=False)  # its environment may hold secrets
class Service:
    """A context manager that launches deploy.sh of a clean export, and ends all processes of the launch on exit.

        with Service(export, weights, log=log, progress=progress) as service:
            service.launch   # the facts: ready, or what happened instead
            service.alive()  # at any time
            service.stop()   # also on exit, on Ctrl-C, and if the kit is killed with SIGKILL

    Args:
        export: a folder with the committed files of the submission, the working directory of deploy.sh.
        weights: the value of MODEL_PATH.
        log: the file for the output of deploy.sh.
        environment: variables for deploy.sh in addition to those of the allow-list (see `environment`).
    """

    export: Path
    weights: Path
    _: KW_ONLY
    log: Path
    progress: Progress
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: contract.PORT)
    patience: Patience = field(default_factory=Patience)
    _supervisor: Supervisor | None = field(default=None, init=False)
    _watch: Watch | None = field(default=None, init=False)
    _launch: Launch | None = field(default=None, init=False)
    _stopped: Stopped | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._variables, self._withheld = scrubbed(
            os.environ, weights=self.weights, extra=self.environment
        )

    @property
    def launch(self) -> Launch:
        """The launch, until the first answer or its failure."""
        if self._launch is None:
            raise RuntimeError("a Service is launched by entering it")
        return self._launch

    @property
    def url(self) -> str:
        """The root URL of the running server, reachable from this machine."""
        return self._watch.url if self._watch else f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Service:  # noqa: PYI034 - typing.Self is not in Python 3.10
        try:
            self._launch = self._launched()
        except BaseException:
            self._launch = replace(self._blank(), outcome=LaunchOutcome.INTERRUPTED)
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def alive(self) -> Alive:
        """The state of the running service, compared with the state when it became ready."""
        watch, supervisor = self._watch, self._supervisor
        if watch is None or supervisor is None or self._stopped is not None:
            return Alive(running=False, exit_status=supervisor.exit_status if supervisor else None)
        at_ready = {
            found.process.pid: found.process for found in watch.launch.listeners if found.process
        }
        supervisor.poll()
        tree = {process.pid: process for process in supervisor.tree()}
        listeners = tuple(found for found in processes.listeners() if found.port == self.port)
        now = {found.process.pid for found in listeners if found.process}
        return Alive(
            running=bool(tree),
            exit_status=supervisor.exit_status,
            listeners=listeners,
            gone=tuple(
                process for pid, process in at_ready.items() if not process.same(tree.get(pid))
            ),
            restarted=bool(now - at_ready.keys() & tree.keys()) and not now & at_ready.keys(),
        )

    def stop(self, grace_s: float = GRACE_S) -> Stopped:
        """End all processes of the launch; a second call returns the result of the first.

        Sends SIGTERM, waits up to `grace_s` seconds, then sends SIGKILL; returns when the last process is gone.
        """
        if self._stopped is not None:
            return self._stopped
        before = self.alive()
        supervisor, self._stopped = (
            self._supervisor,
            Stopped(before=before, seconds=0, grace_s=grace_s),
        )
        if supervisor is None:
            return self._stopped
        self.progress.update(msg("stopping the service"))
        began = time.monotonic()
        supervisor.stop(grace_s)
        self._stopped = Stopped(
            before=before,
            seconds=time.monotonic() - began,
            grace_s=grace_s,
            killed=supervisor.killed,
            survivors=supervisor.survivors,
            holders=processes.holders(self.port),
        )
        return self._stopped

    def ended(self) -> Ended:
        """Stop, and return the whole launch; if the service died before, the log is diagnosed again."""
        stopped = self.stop()
        died = self.launch.outcome is LaunchOutcome.READY and not stopped.before.running
        return Ended(
            launch=self.launch,
            stopped=stopped,
            diagnosis=diagnose(self.log) if died else UNDIAGNOSED,
        )

    def _launched(self) -> Launch:
        try:
            command = (*interpreter(self.export / contract.ENTRY_POINT), contract.ENTRY_POINT)
        except OSError as error:
            failure = msg(
                "{entry_point} cannot be read: {reason}",
                entry_point=contract.ENTRY_POINT,
                reason=error.strerror,
            )
            return replace(self._blank(), outcome=LaunchOutcome.NOT_STARTED, failure=failure)
        blank = replace(self._blank(), command=command, holders=processes.holders(self.port))
        return blank if blank.holders else self._supervised(blank)

    def _blank(self) -> Launch:
        """A launch with the fields that are known before it begins."""
        return Launch(
            outcome=LaunchOutcome.PORT_TAKEN,
            command=(contract.ENTRY_POINT,),
            log=self.log,
            port=self.port,
            deadline_s=self.patience.deadline_s,
            withheld=self._withheld,
            setup=setup_of(self.export),
        )

    def _supervised(self, blank: Launch) -> Launch:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_bytes(b"")
        kills = _oom_kills()
        self._supervisor = Supervisor(
            blank.command, cwd=self.export, env=self._variables, log=self.log.absolute()
        )
        self._watch = Watch(
            supervisor=self._supervisor,
            timeline=Timeline(self.log),
            launch=blank,
            weights=self.weights,
            patience=self.patience,
            progress=self.progress,
        )
        outcome = self._watch.settle()
        return judged(_facts(self._supervisor, self._watch, outcome, kills), self._variables)


def _facts(
    supervisor: Supervisor, watch: Watch, outcome: LaunchOutcome, kills: int | None
) -> Launch:
    now, launch = _oom_kills(), watch.launch
    diagnosis, diagnosed = (
        (UNDIAGNOSED, None)
        if outcome is LaunchOutcome.READY
        else _diagnosed((launch.log, *watch.outputs), launch.answer)
    )
    watch.timeline.look(watch.elapsed_s)
    return replace(
        launch,
        outcome=outcome,
        pid=supervisor.pid,
        seconds=watch.elapsed_s,
        exit_status=supervisor.exit_status,
        failure=supervisor.failure,
        contained=any(
            each.process and processes.in_container(each.process.pid) for each in launch.foreign
        ),
        answer=launch.answer or watch.pending(),
        oom_kills=None if now is None or kills is None else now - kills,
        log_tail=watch.timeline.tail(),
        phases=tuple(watch.timeline.phases),
        diagnosis=diagnosis,
        diagnosed=diagnosed,
    )


def _diagnosed(logs: tuple[Path, ...], answer: Answer | None) -> tuple[Diagnosis, Path]:
    """The first log that shows a cause; else the server's own answer; else the first log with an error in it.

    A missing chat template shows in the answer only. The kind of the last error is read from logs alone: without an
    answer, its text is the kit's own.
    """
    found = [(diagnose(log), log) for log in logs if log.is_file()]
    said = diagnose_stream(BytesIO((answer.text if answer else "").encode("utf-8", "replace")))
    for diagnosis, log in found:
        if diagnosis.cause:
            return diagnosis, log
    if said.cause:
        return said, Path("the answer")
    return next(((diagnosis, log) for diagnosis, log in found if diagnosis.block), found[0])


def _oom_kills() -> int | None:
    """How many processes the kernel has killed because memory ran out, since boot (Linux 4.13 and later)."""
    try:
        counters = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in counters if line.startswith("oom_kill ")), None)
