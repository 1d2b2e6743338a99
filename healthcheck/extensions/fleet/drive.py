"""Runs the jobs: order, retries, records. No code of a submission runs in this process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.fleet import pack
from healthcheck.extensions.fleet.journal import Journal
from healthcheck.extensions.fleet.launch import Order
from healthcheck.extensions.fleet.machines import Machines, Running
from healthcheck.extensions.fleet.records import Attempt, Ending, Fleet, Job, Source, is_final
from healthcheck.extensions.fleet.show import Show
from healthcheck.stages.repo import git
from healthcheck.system import files
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

SAVING_SHARE = 0.05


@dataclass(slots=True, kw_only=True)
class Drive:
    """One run of the jobs.

    Attributes:
        out: the folder of the run.
        limit_s: the time limit of an attempt, in seconds.
        retries: how often a job is retried.
        own_network: whether each launch has a network of its own.
        left_out: the machines that take no jobs, a sentence for each.
        saved: called with the state as attempts end, and at the end.
    """

    jobs: tuple[Job, ...]
    out: Path
    limit_s: float
    retries: int
    own_network: bool = False
    left_out: tuple[str, ...] = ()
    journal: Journal
    machines: Machines
    listener: Show
    saved: Callable[[Fleet], None]
    _running: set[str] = field(default_factory=set)
    _settled: set[str] = field(default_factory=set)
    _unsaved: bool = False
    _save_at: float = 0.0

    def __post_init__(self) -> None:
        for job in self.jobs:
            for last in self.journal.of(job)[-1:]:
                self._note(last)

    def run(self) -> Fleet:
        """Run all jobs that have not ended. Ctrl-C ends every launch; finished attempts are kept."""
        stopped = ""
        try:
            while self._pending() or self._running:
                self._start_what_can()
                for event in self.machines.events():
                    if isinstance(event, Running):
                        self.listener.moved(event)
                    else:
                        self._end(event)
                self._save_now_and_then()
        except KeyboardInterrupt:
            stopped = msg("interrupted")
        finally:
            self.machines.close()
        fleet = self._fleet(stopped)
        self.saved(fleet)
        return fleet

    def _fleet(self, stopped: str = "") -> Fleet:
        return Fleet(
            jobs=self.jobs, attempts=self.journal.attempts, stopped=stopped, left_out=self.left_out
        )

    def _pending(self) -> list[Job]:
        return [
            job
            for job in self.jobs
            if job.name not in self._settled and job.name not in self._running
        ]

    def _note(self, attempt: Attempt) -> bool:
        """Whether the job is retried after this attempt."""
        if is_final(attempt, self.retries):
            self._settled.add(attempt.job)
        return attempt.job not in self._settled

    def _start_what_can(self) -> None:
        for job in self._pending():
            why = self.machines.refusal(job)
            if why:
                self._end(self._without_a_launch(job, Ending.NO_FIT, why))
                continue
            avoid = frozenset(attempt.node for attempt in self.journal.of(job))
            if not self.machines.has_room(job, avoid):
                continue
            try:
                order = self._order(job)
            except UsageError as error:
                self._end(self._without_a_launch(job, Ending.NO_REPOSITORY, str(error)))
                continue
            self._running.add(job.name)
            self.listener.began(job, order.number)
            self.machines.start(job, order, self.out / order.lost.folder, avoid)

    def _order(self, job: Job) -> Order:
        return Order(
            job=job.name,
            digest=job.digest,
            number=self.journal.next_number(job),
            packed=_packed(job.source),
            words=job.words,
            folder=job.folder,
            limit_s=self.limit_s,
            own_network=self.own_network,
        )

    def _without_a_launch(self, job: Job, ending: Ending, why: str) -> Attempt:
        number = self.journal.next_number(job)
        return Attempt(
            job=job.name, digest=job.digest, number=number, ending=ending, said=without_secrets(why)
        )

    def _end(self, attempt: Attempt) -> None:
        self._running.discard(attempt.job)
        self.journal.append(attempt)
        self.listener.ended(attempt, again=self._note(attempt))
        self._unsaved = True

    def _save_now_and_then(self) -> None:
        """Writing the page of a thousand jobs takes a second: it may take SAVING_SHARE of the time."""
        began = time.monotonic()
        if not self._unsaved or began < self._save_at:
            return
        self.saved(self._fleet())
        self._unsaved = False
        ended = time.monotonic()
        self._save_at = ended + (ended - began) / SAVING_SHARE


def _packed(source: Source) -> pack.Packed:
    """The commit of a repository as bytes.

    Raises:
        UsageError: the repository cannot be read or fetched.
    """
    if not source.is_address:
        commit = git.head(Path(source.place).resolve())
        if commit is None:
            raise UsageError(
                msg(
                    "{shown} has no commit: the service clones one, so commit what is to be verified",
                    shown=source.shown,
                )
            )
        return pack.pack(commit)
    folder = Path(tempfile.mkdtemp(prefix=files.prefix()))
    try:
        return pack.pack(pack.fetch(source.place, source.commit, folder))
    finally:
        files.remove_tree(str(folder))
