"""Runs the jobs: who is next, who is tried again, what is kept. Nothing of a submission runs in this process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.fleet.journal import Journal
from healthcheck.extensions.fleet.launch import Network, Order
from healthcheck.extensions.fleet.machines import Machines, Running
from healthcheck.extensions.fleet.records import Attempt, Ending, Fleet, Job, Source, is_final
from healthcheck.extensions.fleet.show import Show
from healthcheck.stages.repo import git, pack
from healthcheck.system import files
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

SAVING_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a run treats its jobs.

    Attributes:
        out: the folder of the run.
        limit_s: seconds that an attempt may take.
        retries: how often a job is tried again.
        network: that of each launch.
        left_out: the machines that take no jobs, a sentence for each.
    """

    out: Path
    limit_s: float
    retries: int
    network: Network = Network.NODE
    left_out: tuple[str, ...] = ()


class Drive:
    """One run of the jobs. `saved` is called with the state as attempts end, and at the end."""

    def __init__(
        self,
        *,
        jobs: Sequence[Job],
        settings: Settings,
        journal: Journal,
        machines: Machines,
        listener: Show,
        saved: Callable[[Fleet], None],
    ) -> None:
        self._jobs = tuple(jobs)
        self._settings = settings
        self._journal = journal
        self._machines = machines
        self._listener = listener
        self._saved = saved
        self._running: dict[str, Job] = {}
        self._settled = {job.name for job in self._jobs if self._is_settled(job)}
        self._unsaved = False
        self._save_at = 0.0

    def run(self) -> Fleet:
        """Run what has not ended yet. Ctrl-C ends every launch; what has ended is kept."""
        stopped = ""
        try:
            while self._pending() or self._running:
                self._start_what_can()
                for event in self._machines.events():
                    if isinstance(event, Running):
                        self._listener.moved(event)
                    else:
                        self._end(event)
                self._save_now_and_then()
        except KeyboardInterrupt:
            stopped = msg("interrupted")
        finally:
            self._machines.close()
        fleet = self._fleet(stopped)
        self._saved(fleet)
        return fleet

    def _fleet(self, stopped: str = "") -> Fleet:
        return Fleet(
            jobs=self._jobs,
            attempts=self._journal.attempts,
            stopped=stopped,
            left_out=self._settings.left_out,
        )

    def _pending(self) -> list[Job]:
        return [job for job in self._jobs if job.name not in self._settled and job.name not in self._running]

    def _is_settled(self, job: Job) -> bool:
        last = next(reversed(self._journal.of(job)), None)
        return last is not None and is_final(last, self._settings.retries)

    def _start_what_can(self) -> None:
        for job in self._pending():
            why = self._machines.refusal(job)
            if why:
                self._end(self._without_a_launch(job, Ending.NO_FIT, why))
                continue
            avoid = self._tried_on(job)
            if not self._machines.has_room(job, avoid):
                continue
            try:
                order = self._order(job)
            except UsageError as error:
                self._end(self._without_a_launch(job, Ending.NO_REPOSITORY, str(error)))
                continue
            self._running[job.name] = job
            self._listener.began(job, order.number)
            place = self._settings.out / _attempt(job, order.number).folder
            self._machines.start(job, order, place, avoid)

    def _tried_on(self, job: Job) -> frozenset[str]:
        return frozenset(attempt.node for attempt in self._journal.of(job))

    def _order(self, job: Job) -> Order:
        return Order(
            job=job.name,
            digest=job.digest,
            number=self._journal.next_number(job),
            packed=packed(job.source),
            words=job.words,
            folder=job.folder,
            limit_s=self._settings.limit_s,
            network=self._settings.network,
        )

    def _without_a_launch(self, job: Job, ending: Ending, why: str) -> Attempt:
        return _attempt(job, self._journal.next_number(job), ending=ending, said=without_secrets(why))

    def _end(self, attempt: Attempt) -> None:
        self._running.pop(attempt.job, None)
        self._journal.append(attempt)
        again = not is_final(attempt, self._settings.retries)
        if not again:
            self._settled.add(attempt.job)
        self._listener.ended(attempt, again=again)
        self._unsaved = True

    def _save_now_and_then(self) -> None:
        """The page of a thousand jobs takes a second to write: it may take SAVING_SHARE of the time."""
        began = time.monotonic()
        if not self._unsaved or began < self._save_at:
            return
        self._saved(self._fleet())
        self._unsaved = False
        ended = time.monotonic()
        self._save_at = ended + (ended - began) / SAVING_SHARE


def _attempt(job: Job, number: int, *, ending: Ending = Ending.DONE, said: str = "") -> Attempt:
    return Attempt(job=job.name, digest=job.digest, number=number, ending=ending, said=said)


def packed(source: Source) -> pack.Packed:
    """The commit of a repository as bytes.

    Raises:
        UsageError: it cannot be read or fetched.
    """
    if not source.is_address:
        commit = git.head(Path(source.place).resolve())
        if commit is None:
            raise UsageError(
                msg("{shown} has no commit: the service clones one, so commit what is to be verified", source.shown)
            )
        return pack.pack(commit)
    folder = Path(tempfile.mkdtemp(prefix=files.prefix()))
    try:
        return pack.pack(pack.fetch(source.place, source.commit, folder))
    finally:
        files.remove_tree(str(folder))
