"""Merges `fleet verify` folders of single jobs from many machines into the attempts of one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.fleet import receive
from healthcheck.extensions.fleet.journal import MAX_BYTES, NAME, Journal, attempts_in
from healthcheck.extensions.fleet.readback import short
from healthcheck.extensions.fleet.records import Attempt, Ending, Fleet, Job
from healthcheck.system import files


def collected(jobs: Sequence[Job], folders: Sequence[Path], out: Path, journal: Journal) -> Fleet:
    """Bring the attempts of the folders into the run at `out`, in the order of their start.

    Attempts at other jobs, or at a job that has changed since, are left out. Files of a machine are trusted no more
    than those from a node of a cluster.
    """
    by_name = {job.name: job for job in jobs}
    found = sorted(_attempts(folders), key=lambda each: each[0].started)
    for attempt, folder in found:
        job = by_name.get(attempt.job)
        if job is None or job.digest != attempt.digest:
            continue
        asked = Attempt(
            job=job.name,
            digest=job.digest,
            number=journal.next_number(job),
            ending=Ending.LOST,
            commit=attempt.commit if attempt.commit == job.source.commit else "",
            node=short(attempt.node),
        )
        message = receive.sent(attempt, folder / attempt.folder)
        journal.append(receive.received(message, asked, out / asked.folder))
    return Fleet(jobs=tuple(jobs), attempts=journal.attempts)


def left_below(reports: Path) -> list[Path]:
    """The folders of `fleet verify`, at most two levels down.

    Raises:
        UsageError: there is none.
    """
    found = sorted({path.parent for pattern in (f"*/{NAME}", f"*/*/{NAME}") for path in reports.glob(pattern)})
    if not found:
        told = (reports, NAME)
        raise UsageError("{reports} has no folder with a {name}: name the folder above those of the jobs", *told)
    return found


def _attempts(folders: Sequence[Path]) -> list[tuple[Attempt, Path]]:
    return [
        (attempt, folder)
        for folder in folders
        for attempt in attempts_in(files.read_bounded(folder / NAME, MAX_BYTES), folder / NAME)
    ]
