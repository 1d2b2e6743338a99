"""What each server of a run answered, and whether one of them is worse than the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.statistics.intervals import wilson
from healthcheck.stages.probe.statistics.one_against_others import Stratum, against_others

ERROR = 0.01
"""How often a server of a run whose servers are alike is called worse, for all servers together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The answers of one server.

    Attributes:
        samples, right: answered ones in the order of dispatch, up to the first that is missing.
        low, high: 95 % interval of the share of right ones, for these problems.
        others, others_right: the same of the other servers.
        p: of no fewer right answers than these if the servers are alike.
        detectable: the loss that is found in four of five runs, None where these samples tell nothing.
        failed: requests that it was the last to be asked, and that failed.
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
    """Every server of a run that answered, in the order in which they were named."""
    named = (*run.servers, *sorted({sample.server for sample in run.samples} - {*run.servers, ""}))
    failed = Counter(sample.server for sample in run.failed)
    cells, by_problem = _cells(run)
    answering = [server for server in named if any(server in cell for cell in cells)]
    return tuple(
        _share(server, cells, by_problem=by_problem, error=ERROR / len(answering), failed=failed[server])
        for server in answering
    )


_Cell = dict[str, list[int]]
"""Samples and right ones of one stratum, by server."""


def _cells(run: ProbeRun) -> tuple[Sequence[_Cell], bool]:
    """The strata: problems, or, where no problem has two samples, tiers."""
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
