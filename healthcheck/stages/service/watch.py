"""Watches a launch until its outcome is known: ready, or why it is not."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from healthcheck import contract
from healthcheck.core.progress import Progress
from healthcheck.errors import KitFailure
from healthcheck.stages.service.readiness import LOADING, Attempts, base_url, speaks_http
from healthcheck.stages.service.records import Answer, Launch, LaunchOutcome
from healthcheck.stages.service.restarts import Restarts
from healthcheck.stages.service.supervisor import Supervisor
from healthcheck.stages.service.timeline import Timeline
from healthcheck.stages.service.work import WINDOW_S, Work
from healthcheck.system import processes
from healthcheck.system.processes import Activity
from healthcheck.text.messages import joined, msg

QUIET_S = 15.0
"""After this long without activity, the progress line says so."""
OUTPUT_FILES = 8
"""The most files besides the log to search for the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Time limits of a start, in seconds.

    Attributes:
        deadline_s: for the whole start: the service's own limit, if known.
        refusal_s: a refusal (HTTP 400, say) that lasts this long is final if the server lists its model. An HTTP
            500 or an empty list may come from a gateway in front of a model that loads: ten times as long, and only
            if the processes were idle for half of that time.
        silence_s: a launch without output, CPU time and I/O of any process for this long is stuck.
        answer_s: the same, while an accepted request waits. A slow first answer has reasons: the server loads,
            compiles, captures graphs, or waits for a rank (HCCL_CONNECT_TIMEOUT, 120 s); all but
            the last show in CPU time or I/O.
        other_port_s: the same, after the log announced another port: a gateway may open the right port once all its
            backends have loaded.
        tick_s: the polling interval.
    """

    deadline_s: float = field(default_factory=lambda: contract.service().start_up_seconds or 1800.0)
    refusal_s: float = 30.0
    silence_s: float = 600.0
    answer_s: float = 180.0
    other_port_s: float = 60.0
    tick_s: float = 0.5


@dataclass(slots=True)
class Stillness:
    """How long a launch has been idle: almost no CPU time and I/O, and no output."""

    _used: Activity = field(default_factory=Activity)
    _log_bytes: int = 0
    _since_s: float = 0.0

    def look(self, used: Activity, log_bytes: int, now_s: float, limit_s: float) -> float:
        """Seconds since the last activity: more than 0.5 % of a CPU over the limit, or 1 MiB, or a byte of output.

        The sum loses the CPU time of processes that ended meanwhile: a fall counts as activity too.
        """
        if (
            abs(used.cpu_s - self._used.cpu_s) > 0.005 * limit_s
            or abs(used.io_bytes - self._used.io_bytes) > 2**20
            or log_bytes != self._log_bytes
        ):
            self._used, self._log_bytes, self._since_s = used, log_bytes, now_s
        return now_s - self._since_s


@dataclass(slots=True)
class Watch:
    """One launch being watched; `settle` returns its outcome, `launch` holds what was seen of it so far."""

    supervisor: Supervisor
    timeline: Timeline
    launch: Launch
    weights: Path
    patience: Patience
    progress: Progress
    began: float = field(default_factory=time.monotonic)
    outputs: tuple[Path, ...] = ()
    url: str = ""
    _restarts: Restarts = field(default_factory=Restarts)
    _refused_since: float | None = None
    _announced_since: float | None = None
    _unanswered_since: float | None = None
    _still_s: float = 0.0
    _stillness: Stillness = field(default_factory=Stillness)
    _work: Work = field(init=False)
    _asked_s: float = 0.0
    _backgrounded: bool = False
    _attempts: Attempts = field(init=False)

    def __post_init__(self) -> None:
        self._attempts = Attempts(self.weights)
        self._work = Work(window_s=min(WINDOW_S, self.patience.refusal_s))

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    def settle(self) -> LaunchOutcome:
        """Poll until the outcome of the launch is known.

        Raises:
            KitFailure: the process that supervises deploy.sh was killed.
        """
        while True:
            self.look()
            outcome = self._exited() or self._foreign() or self._answered() or self._restarting()
            if outcome := outcome or self._elsewhere() or self._silent() or self._late():
                return outcome
            time.sleep(self.patience.tick_s)

    def look(self) -> None:
        """Look once at the processes, the sockets and the log.

        Raises:
            KitFailure: see `settle`.
        """
        self.supervisor.poll()
        if self.supervisor.lost:
            why = msg(
                "the process that supervises deploy.sh was killed, so how the launch went is unknown"
            )
            raise KitFailure(why)
        tree = self.supervisor.tree()
        self._restarts.look(tree, self.timeline.look(self.elapsed_s))
        ours = {process.pid for process in tree}
        self._note_outputs(ours)
        everyone, port = processes.listeners(), self.launch.port
        known = [listener for listener in everyone if listener.process]
        own = {listener for listener in known if listener.process and listener.process.pid in ours}
        self.launch = replace(
            self.launch,
            processes=tree,
            listeners=tuple(each for each in everyone if each.port == port),
            foreign=tuple(each for each in known if each.port == port and each not in own),
            other_ports=tuple(each for each in known if each.port != port and each in own),
        )
        self._look_for_life()
        self.progress.update(self._words())

    def _look_for_life(self) -> None:
        now = processes.activity(process.pid for process in self.launch.processes)
        if not self.launch.listeners:
            self._unanswered_since = None
        self._work.look(now, self.elapsed_s)
        _, limit_s = self._silence()
        self._still_s = self._stillness.look(now, self.timeline.size_bytes, self.elapsed_s, limit_s)

    def _words(self) -> str:
        """The progress line: the current phase, what is waited for and how long yet; a terminal may cut its end."""
        still_s, limit_s = self._silence()
        left_s = self.patience.deadline_s - self.elapsed_s
        waits = []
        if self._unanswered_since is not None:
            waits.append(msg("port {port} is open, no answer yet", port=self.launch.port))
        if still_s > QUIET_S:
            waits.append(msg("nothing has moved for {clock}", clock=_clock(still_s)))
            left_s = min(left_s, limit_s - still_s)
        then = self.timeline.usually_next()
        following = [msg("then {phase}", phase=then)] if then else []
        left = msg("gives up in {clock}", clock=_clock(left_s))
        return joined(" · ", (self.timeline.describe(), *waits, left, *following))

    def _note_outputs(self, pids: set[int]) -> None:
        """Record other files that processes write to: `nohup … > server.log` hides the cause there."""
        known = {*self.outputs, self.timeline.log.resolve()}
        new = tuple(path for path in processes.outputs(pids) if path not in known)
        self.outputs = (*self.outputs, *new)[:OUTPUT_FILES]

    def pending(self) -> Answer | None:
        """The pending request in words, if it has no answer yet."""
        if not self._attempts.under_way or self._unanswered_since is None:
            return None
        waited_s = self.elapsed_s - self._unanswered_since
        heard = self._attempts.heard()
        text = msg(
            "connections are accepted; {heard}, for {waited_s:.0f} s so far",
            heard=heard,
            waited_s=waited_s,
        )
        return Answer(status=0, text=text)

    def _exited(self) -> LaunchOutcome | None:
        if self.supervisor.failure:
            return LaunchOutcome.NOT_STARTED
        status = self.supervisor.exit_status
        if status is None:
            return None
        left = self.launch.processes or self.supervisor.tree()
        if status == 0 and left:
            self._backgrounded = True
            return None
        return LaunchOutcome.BACKGROUNDED if self._backgrounded else LaunchOutcome.EXITED

    def _foreign(self) -> LaunchOutcome | None:
        """A listener that does not belong to the launch; checked twice, as ours may start between two readings."""
        if not self.launch.foreign:
            return None
        ours = {process.pid for process in self.supervisor.tree()}
        others = ((each, each.process.pid) for each in self.launch.foreign if each.process)
        still = tuple(each for each, pid in others if pid not in ours and processes.process(pid))
        self.launch = replace(self.launch, foreign=still)
        return LaunchOutcome.FOREIGN_LISTENER if still else None

    def _answered(self) -> LaunchOutcome | None:
        result = self._attempts.take()
        if result is None:
            if self.launch.listeners and not self._attempts.under_way and self._may_ask():
                self.url = base_url(self.launch.listeners, self.launch.port)
                if self._unanswered_since is None:
                    self._unanswered_since = self.elapsed_s
                self._attempts.begin(self.url)
                self._asked_s = self.elapsed_s
            return None
        self._unanswered_since = None if result.answer.status else self._unanswered_since
        if result.ready:
            self.launch = replace(
                self.launch, model=result.model, ready_s=self.elapsed_s, answer=None
            )
            return LaunchOutcome.READY
        before = self.launch.answer
        same = before is not None and before.status == result.answer.status
        self.launch = replace(self.launch, model=result.model, answer=result.answer)
        if result.answer.status in LOADING or not same:
            self._refused_since = None if result.answer.status in LOADING else self.elapsed_s
            return None
        lasted_s = self.elapsed_s - (self._refused_since or 0.0)
        if result.listed and result.answer.status < 500:
            return LaunchOutcome.ANSWERS_WRONGLY if lasted_s >= self.patience.refusal_s else None
        limit_s = 10 * self.patience.refusal_s
        quiet_s = self._work.quiet_s(self.elapsed_s)
        return (
            LaunchOutcome.ANSWERS_WRONGLY
            if lasted_s >= limit_s and quiet_s >= limit_s / 2
            else None
        )

    def _may_ask(self) -> bool:
        """Poll a server that refuses less often: the requests themselves would look like work."""
        return (
            self._refused_since is None
            or self.elapsed_s - self._asked_s >= self.patience.refusal_s / 15
        )

    def _restarting(self) -> LaunchOutcome | None:
        loop = self._restarts.loop(self.launch.processes)
        if loop is None:
            return None
        self.launch = replace(self.launch, restarted=loop)
        return LaunchOutcome.RESTARTING

    def _elsewhere(self) -> LaunchOutcome | None:
        """A process of the launch listens on the port that the log announces, and none on the right port."""
        elsewhere = {
            listener.port for listener in self.launch.other_ports
        } & self.timeline.announced
        if self.launch.listeners or not elsewhere:
            self._announced_since = None
            return None
        self._announced_since = self._announced_since or self.elapsed_s
        waited_s = min(self.elapsed_s - self._announced_since, self._work.quiet_s(self.elapsed_s))
        return LaunchOutcome.OTHER_PORT if waited_s >= self.patience.other_port_s else None

    def _late(self) -> LaunchOutcome | None:
        """The deadline has passed. Other ports are tried only now, since a request may disturb a worker's port."""
        if self.elapsed_s <= self.patience.deadline_s:
            return None
        return LaunchOutcome.OTHER_PORT if self._serves_elsewhere() else LaunchOutcome.TIMED_OUT

    def _serves_elsewhere(self) -> bool:
        ports = sorted({listener.port for listener in self.launch.other_ports})
        return not self.launch.listeners and any(
            speaks_http(self.launch.other_ports, port) for port in ports[:8]
        )

    def _silent(self) -> LaunchOutcome | None:
        still_s, limit_s = self._silence()
        if still_s < limit_s:
            return None
        return LaunchOutcome.OTHER_PORT if self._serves_elsewhere() else LaunchOutcome.SILENT

    def _silence(self) -> tuple[float, float]:
        """The seconds without activity, and their limit: shorter while a request waits."""
        if self._unanswered_since is None or not self.launch.listeners:
            return self._still_s, self.patience.silence_s
        return min(self._still_s, self.elapsed_s - self._unanswered_since), self.patience.answer_s


def _clock(seconds: float) -> str:
    whole = max(0, int(seconds))
    return f"{whole // 60}:{whole % 60:02d}"
