"""Findings about a whole run: the checks that failed most, and the nodes that misbehave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from healthcheck.core.records import JsonValue, Verdict
from healthcheck.extensions.fleet.records import Attempt, Ending, Fleet, Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequent:
    """A check that failed, had an error or is unsettled, and the jobs concerned."""

    check: str
    tone: Tone
    jobs: tuple[str, ...]


def frequent(fleet: Fleet) -> tuple[Frequent, ...]:
    """The failed checks of the last attempts, those in most jobs first."""
    jobs: dict[tuple[str, Tone], list[str]] = {}
    for job in fleet.jobs:
        last = fleet.last(job)
        for problem in last.report.problems if last and last.report else ():
            jobs.setdefault((problem.check, problem.tone), []).append(job.name)
    found = (Frequent(check=check, tone=tone, jobs=tuple(names)) for (check, tone), names in jobs.items())
    return tuple(sorted(found, key=lambda each: (-len(each.jobs), each.tone is not Tone.FAIL, each.check)))


def nodes(attempts: Iterable[Attempt]) -> Iterator[dict[str, JsonValue]]:
    """The machines, by name: their attempts by verdict, those lost with them, and their seconds of work."""
    ran = sorted((attempt for attempt in attempts if attempt.node), key=lambda attempt: attempt.node)
    for name, group in groupby(ran, key=lambda attempt: attempt.node):
        of_node = tuple(group)
        count = Counter(attempt.verdict for attempt in of_node if attempt.ending is not Ending.LOST)
        yield {
            "name": name,
            "ready": count[Verdict.READY],
            "not_ready": count[Verdict.NOT_READY],
            "inconclusive": count[Verdict.INCONCLUSIVE],
            "lost": sum(attempt.ending is Ending.LOST for attempt in of_node),
            "seconds": sum(attempt.seconds for attempt in of_node),
        }
