"""Findings about a whole run: the checks that failed most, and the nodes that misbehave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from healthcheck.core.records import JsonValue, Verdict
from healthcheck.extensions.fleet.records import Attempt, Ending, Fleet, Tone


def frequent(fleet: Fleet) -> Iterator[dict[str, JsonValue]]:
    """The checks that failed, had an error or are unsettled in the last attempts, those in most jobs first."""
    jobs: dict[tuple[str, Tone], list[str]] = {}
    for job in fleet.jobs:
        last = fleet.last(job)
        for problem in last.report.problems if last and last.report else ():
            jobs.setdefault((problem.check, problem.tone), []).append(job.name)
    for check, tone in sorted(
        jobs, key=lambda each: (-len(jobs[each]), each[1] is not Tone.FAIL, each[0])
    ):
        yield {"check": check, "tone": tone.value, "jobs": list[JsonValue](jobs[check, tone])}


def nodes(attempts: Iterable[Attempt]) -> Iterator[dict[str, JsonValue]]:
    """The machines, by name: their attempts by verdict, those lost with them, and their seconds of work."""
    ran = sorted(
        (attempt for attempt in attempts if attempt.node), key=lambda attempt: attempt.node
    )
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
