"""The records of a fleet: jobs, how each attempt ended, and the facts of its report. Plain data."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from healthcheck.core.records import Verdict
from healthcheck.core.stages import Stage
from healthcheck.errors import ExitStatus
from healthcheck.report.recorded import Recorded, read


class Ending(enum.Enum):
    """How an attempt at a job ended.

    Attributes:
        DONE: `verify` finished.
        TIME_LIMIT: the job's time limit ran out.
        LOST: its machine or the process that watched it is gone.
        NO_FIT: no machine can ever take the job.
        NO_REPOSITORY: the commit could not be read or fetched.
    """

    DONE = "done"
    TIME_LIMIT = "time limit"
    LOST = "lost"
    NO_FIT = "fits no machine"
    NO_REPOSITORY = "no repository"


class Tone(enum.Enum):
    """The worst outcome of a stage's checks; OPEN is an unsettled outcome."""

    PASS = "pass"
    WARN = "warn"
    SKIP = "skip"
    FAIL = "fail"
    ERROR = "error"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The location of a repository: a folder, or an address with a commit.

    Attributes:
        shown: the folder or the address without user, password and secrets.
        place: the folder or the whole address; never printed or written.
        commit: the hash; "" is the HEAD of a folder.
    """

    shown: str
    place: str = field(repr=False)
    commit: str = ""

    @property
    def is_address(self) -> bool:
        """Whether the repository has to be fetched."""
        return "://" in self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One adapter to verify.

    Attributes:
        name: unique among the jobs, and the name of its folder.
        weights: a path on the machines that run jobs, "" if `until` is the stage repo.
        npus: the number of devices, 0 for none.
        npu: the kind of NPU, "" for any.
        words: further arguments of `verify`; they may hold secrets (--env), and are never printed or written.
        digest: changes when the job does; does not depend on secrets.
        folder: the folder of the job file, the base of relative paths in its options.
        where: file and line of the job file.
    """

    name: str
    source: Source
    weights: str
    until: Stage
    npus: int
    npu: str
    words: tuple[str, ...] = field(repr=False)
    digest: str
    folder: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFacts:
    """A stage of one report: the worst outcome, the number of checks, and their time in seconds."""

    stage: Stage
    tone: Tone
    checks: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A check that failed, had an error or is unsettled, with its first line, and that line as recorded."""

    check: str
    tone: Tone
    said: str
    recorded: Recorded | None = None

    @property
    def message(self) -> str:
        """The line as a message, if it is one."""
        return read(self.said, self.recorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """The facts of a report of `verify`, read with bounds; all texts are plain and short.

    Attributes:
        simulated: whether the endpoint was simulated, so that no model was measured.
        page: whether report.html exists and is a page of this kit.
        recorded: the headline as a message.
    """

    verdict: Verdict
    headline: str
    stages: tuple[StageFacts, ...]
    problems: tuple[Problem, ...]
    simulated: bool
    page: bool
    recorded: Recorded | None = None

    @property
    def message(self) -> str:
        """The headline as a message, if it is one."""
        return read(self.headline, self.recorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a job.

    Attributes:
        number: from 1.
        commit: the verified commit, "" if unknown.
        node: the name of the machine.
        devices: the assigned devices, such as "0", "1"; empty if they were not counted.
        started: UTC in ISO 8601.
        seconds: wall time on the machine.
        status: the exit status of `verify`, None if there is none.
        said: why there is no report, "" if there is one.
    """

    job: str
    digest: str
    number: int
    ending: Ending
    commit: str = ""
    node: str = ""
    devices: tuple[str, ...] = ()
    started: str = ""
    seconds: float = 0.0
    status: int | None = None
    report: ReportFacts | None = None
    said: str = ""

    @property
    def verdict(self) -> Verdict:
        """Ready only if exit status and report agree: a wrong pass is the worst mistake."""
        told = self.report.verdict if self.report else Verdict.INCONCLUSIVE
        agreed = self.ending is Ending.DONE and self.status == _STATUSES.get(told)
        return told if agreed else Verdict.INCONCLUSIVE

    @property
    def exit_status(self) -> ExitStatus:
        """The exit status of the verdict; KIT_FAILED if `verify` ended with it."""
        if self.verdict is Verdict.INCONCLUSIVE and self.status == ExitStatus.KIT_FAILED:
            return ExitStatus.KIT_FAILED
        return _STATUSES.get(self.verdict, ExitStatus.INCONCLUSIVE)

    @property
    def folder(self) -> Path:
        """The folder of its files, relative to the folder of the run."""
        return Path("jobs", self.job, f"attempt-{self.number}")


_STATUSES = {Verdict.READY: ExitStatus.READY, Verdict.NOT_READY: ExitStatus.NOT_READY}
GRAVEST_FIRST = (
    ExitStatus.NOT_READY,
    ExitStatus.KIT_FAILED,
    ExitStatus.INCONCLUSIVE,
    ExitStatus.READY,
)
"""As in verify: a failure decides; the kit's own failure explains a missing verdict."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """A run: its jobs, and the attempts so far in the order of their end.

    Attributes:
        left_out: the machines that take no jobs, a sentence for each.
    """

    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]
    stopped: str = ""
    left_out: tuple[str, ...] = ()

    def of(self, job: Job) -> Sequence[Attempt]:
        return self._by_job.get(job.name, ())

    def last(self, job: Job) -> Attempt | None:
        """The last attempt at a job, which counts; None without a result."""
        return next(reversed(self.of(job)), None)

    @cached_property
    def _by_job(self) -> Mapping[str, Sequence[Attempt]]:
        found: dict[str, list[Attempt]] = {}
        for attempt in self.attempts:
            found.setdefault(attempt.job, []).append(attempt)
        return found

    @property
    def exit_status(self) -> ExitStatus:
        """The worst of the verdicts; a job without a result is inconclusive."""
        lasts = [self.last(job) for job in self.jobs]
        return worst([last.exit_status if last else ExitStatus.INCONCLUSIVE for last in lasts])


def worst(statuses: Sequence[ExitStatus]) -> ExitStatus:
    """The worst of several exit statuses; INCONCLUSIVE for none."""
    return min(statuses, key=GRAVEST_FIRST.index, default=ExitStatus.INCONCLUSIVE)


def is_final(attempt: Attempt, retries: int) -> bool:
    """Whether a job is not retried after this attempt.

    Not ready is an answer, and a time limit would run out again; inconclusive, a failure of the kit and a lost
    machine may be due to the machine.
    """
    if attempt.ending is Ending.LOST:
        return attempt.number > retries
    if attempt.ending is not Ending.DONE or attempt.verdict is not Verdict.INCONCLUSIVE:
        return True
    again = attempt.status in {ExitStatus.INCONCLUSIVE, ExitStatus.KIT_FAILED}
    return not again or attempt.number > retries
