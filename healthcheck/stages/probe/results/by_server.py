"""The answers of each server of a run, and whether one server is worse than the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.statistics.intervals import wilson
from healthcheck.stages.probe.statistics.one_against_others import Stratum, against_others

ERROR = 0.01
"""How often a server is called worse in a run of equal servers, for all servers together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The answers of one server.

    Attributes:
        samples, right: answered and right samples in dispatch order, up to the first missing one.
        low, high: 95 % interval of the share of right samples, for these problems.
        others, others_right: the same counts of the other servers.
        p: the probability of no more right answers than these, if the servers are equal.
        detectable: the loss that is detected in four of five runs, None if these samples cannot show any.
        failed: failed requests whose last attempt went to this server.
    """

    server: str
    samples: int
    right: int
    low: float
    high: float
    others: int
    others_right: int
    p: float
    detectable: float | None
    failed: int


def shares(run: ProbeRun) -> tuple[Share, ...]:
    """Every server of a run that answered, in the order of the settings."""
    named = (*run.servers, *sorted({sample.server for sample in run.samples} - {*run.servers, ""}))
    failed = Counter(sample.server for sample in run.failed)
    cells, by_problem = _cells(run)
    answering = [server for server in named if any(server in cell for cell in cells)]
    return tuple(
        _share(server, cells, by_problem=by_problem, error=ERROR / len(answering), failed=failed[server])
        for server in answering
    )


_Cell = dict[str, list[int]]
"""Samples and right samples of one stratum, by server."""


def _cells(run: ProbeRun) -> tuple[Sequence[_Cell], bool]:
    """The strata: problems, or tiers if no problem has two samples."""
    places = [place for place in run.complete if not run.samples[place].error]
    by_problem = len({run.samples[place].problem for place in places}) < len(places)
    cells: dict[object, _Cell] = {}
    for place in places:
        sample = run.samples[place]
        key = sample.problem if by_problem else run.problems[sample.problem].tier
        counts = cells.setdefault(key, {}).setdefault(sample.server, [0, 0])
        counts[0] += 1
        counts[1] += run.grades[place].correct
    return tuple(cells.values()), by_problem


def _share(server: str, cells: Sequence[_Cell], *, by_problem: bool, error: float, failed: int) -> Share:
    strata: list[Stratum] = []
    for cell in cells:
        n, c = cell.get(server, (0, 0))
        total, right = (sum(counts[place] for counts in cell.values()) for place in (0, 1))
        strata.append((n, c, total - n, right - c))
    samples, right, others, others_right = (sum(column) for column in zip(*strata, strict=True))
    interval, found = wilson(right, samples), against_others(strata, by_problem=by_problem, error=error)
    return Share(
        server=server,
        samples=samples,
        right=right,
        low=interval.low,
        high=interval.high,
        others=others,
        others_right=others_right,
        p=found.p,
        detectable=found.detectable,
        failed=failed,
    )
