"""The journal of a run: one line per finished attempt. Jobs in the journal are not run again."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.fleet.records import Attempt, Ending, Job
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

NAME = "fleet.jsonl"
MAX_BYTES = 512 * 2**20


class Journal:
    """The attempts of a run, in the order of their end."""

    def __init__(self, file: int, attempts: Iterable[Attempt]) -> None:
        self._file = file
        self._attempts: list[Attempt] = []
        self._by_job: dict[str, list[Attempt]] = {}
        for attempt in attempts:
            self._keep(attempt)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return tuple(self._attempts)

    def append(self, attempt: Attempt) -> None:
        """Record an attempt, also on disk.

        Raises:
            OSError: the attempt cannot be written.
        """
        line = json_text.dump_line(attempt)
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)
        self._keep(attempt)

    def of(self, job: Job) -> Sequence[Attempt]:
        return self._by_job.get(job.name, ())

    def next_number(self, job: Job) -> int:
        return 1 + len(self.of(job))

    def _keep(self, attempt: Attempt) -> None:
        self._attempts.append(attempt)
        self._by_job.setdefault(attempt.job, []).append(attempt)


@contextmanager
def opened(folder: Path, jobs: Iterable[Job], *, resume: bool) -> Iterator[Journal]:
    """The journal of a run, locked against other writers.

    Leaves out attempts at jobs that are no longer in the job file, and attempts that no machine began, since a
    machine or a commit may be available now.

    Raises:
        UsageError: the folder holds a run and `resume` is False; there is none and it is True; a job has changed
            since; another process writes to the journal; or it is damaged.
    """
    path = folder / NAME
    if path.exists() != resume:
        if resume:
            raise UsageError(
                msg(
                    "{folder} has no {name} to go on with: leave --resume away",
                    folder=folder,
                    name=NAME,
                )
            )
        raise UsageError(
            msg(
                "{folder} holds a run already: go on with --resume, or name another --out",
                folder=folder,
            )
        )
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                msg("another process is running the jobs of {folder}", folder=folder)
            ) from error
        yield Journal(handle, _known(_read(path, handle), jobs, folder))
    finally:
        os.close(handle)


def _read(path: Path, handle: int) -> list[Attempt]:
    """The attempts; an incomplete last line, from a driver that was killed, is cut off."""
    data = files.read_bounded(path, MAX_BYTES)
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        os.ftruncate(handle, len(whole))
    try:
        return [json_text.load_as(line, Attempt) for line in whole.splitlines()]
    except JsonError as error:
        raise UsageError(msg("{path} is damaged: {error}", path=path, error=error)) from error


def _known(attempts: list[Attempt], jobs: Iterable[Job], folder: Path) -> list[Attempt]:
    by_name = {job.name: job for job in jobs}
    for attempt in attempts:
        job = by_name.get(attempt.job)
        if job and job.digest != attempt.digest:
            raise UsageError(
                msg(
                    "{where}: the job {name} has changed since it ran in {folder}: give it another name, or name "
                    "another --out",
                    where=job.where,
                    name=job.name,
                    folder=folder,
                )
            )
    begun = (
        attempt
        for attempt in attempts
        if attempt.ending not in {Ending.NO_FIT, Ending.NO_REPOSITORY}
    )
    return [attempt for attempt in begun if attempt.job in by_name]
