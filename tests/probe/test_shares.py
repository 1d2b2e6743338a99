"""A fault that shows in all copies of an answer counts once: the unit is the problem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from healthcheck.stages.probe.checks.degenerate import GARBLED, LEFT_OPEN, TOLERATED
from healthcheck.stages.probe.checks.truncated import NEVER_ENDS, OPEN
from healthcheck.stages.probe.records import Sample
from healthcheck.stages.probe.results.answers import surely
from healthcheck.stages.probe.statistics.intervals import clopper_pearson

PROBLEMS, COPIES = 120, 3


def samples_of(problems: Sequence[int]) -> list[Sample]:
    return [
        Sample(order=repeat * PROBLEMS + problem, problem=problem, repeat=repeat)
        for problem in problems
        for repeat in range(COPIES)
    ]


def found(faulty: int) -> float:
    return surely(samples_of(range(faulty)), samples_of(range(PROBLEMS)))


def test_nine_looping_problems_of_120_are_not_surely_more_than_tolerated() -> None:
    pooled = clopper_pearson(9 * COPIES, PROBLEMS * COPIES).low
    assert found(9) < TOLERATED < pooled
    assert found(14) > TOLERATED


@pytest.mark.parametrize("limit", [GARBLED, TOLERATED, OPEN, LEFT_OPEN, NEVER_ENDS])
def test_a_rate_at_the_limit_is_rarely_surely_above_it_however_alike_the_copies(
    limit: float,
) -> None:
    # Exact over the binomial distribution; independent samples would give .029 at .05, copies pooled .147.
    above = sum(
        math.comb(PROBLEMS, k) * limit**k * (1 - limit) ** (PROBLEMS - k)
        for k in range(PROBLEMS + 1)
        if found(k) > limit
    )
    assert above < 0.045
