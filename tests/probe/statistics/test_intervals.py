"""The intervals against scipy and against the definitions of the statistics reference."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, THIS_BANK
from healthcheck.stages.probe.statistics.intervals import (
    clopper_pearson,
    plus_two_t,
    wilson,
)
from healthcheck.stages.probe.statistics.summary import summarize

stats = pytest.importorskip("scipy.stats")
shares = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(shares)
def test_plus_two_t_is_a_t_interval_with_two_more_problems(values: list[float]) -> None:
    padded = [*values, 0.0, 1.0]
    half = stats.t.ppf(0.975, len(padded) - 1) * statistics.stdev(padded) / math.sqrt(len(padded))
    mean, interval = statistics.fmean(padded), plus_two_t(values)
    assert interval.low == pytest.approx(max(0.0, mean - half), abs=1e-9)
    assert interval.high == pytest.approx(min(1.0, mean + half), abs=1e-9)


@given(shares)
def test_every_interval_encloses_its_estimate(values: list[float]) -> None:
    mean = sum(values) / len(values)
    for interval in (plus_two_t(values), wilson(sum(values), len(values))):
        assert 0.0 <= interval.low <= mean <= interval.high <= 1.0


@pytest.mark.parametrize(("right", "trials"), [(0, 5), (5, 5), (28, 600), (480, 600), (1, 1)])
def test_wilson_and_clopper_pearson_are_scipys(right: int, trials: int) -> None:
    test = stats.binomtest(right, trials)
    for method, interval in (("wilson", wilson(right, trials)), ("exact", clopper_pearson(right, trials))):
        expected = test.proportion_ci(0.95, method)
        assert interval.low == pytest.approx(expected.low, abs=1e-9)
        assert interval.high == pytest.approx(expected.high, abs=1e-9)


def test_both_questions_are_answered_and_named() -> None:
    matrix = [[1, 1, 1, 1, 1]] * 10 + [[0] * 5] * 10
    summary = summarize(matrix)
    other, again = summary.estimate("avg@5"), summary.estimate("avg@5", THIS_BANK)
    assert other is not None
    assert again is not None
    assert other.question == LIKE_THESE
    assert (other.value, again.value) == (0.5, 0.5)
    # Twenty problems that are all or nothing say little about others, and much about themselves.
    assert other.high - other.low > 2 * (again.high - again.low)
    assert (again.low, again.high) == pytest.approx(tuple(stats.binomtest(50, 100).proportion_ci(0.95, "wilson")))


def test_uneven_rows_take_k_from_the_shortest_and_weigh_problems_alike() -> None:
    summary = summarize([[1, 1], [0, 0, 0, 1]])
    estimate = summary.estimate("avg@2")
    assert estimate is not None
    assert estimate.value == 0.625
    assert summary.estimate("pass@3") is None
    assert (summary.problems, summary.samples, summary.correct, summary.repeats) == (2, 6, 3, 2)


def test_empty_runs_have_no_figures_and_empty_rows_are_refused() -> None:
    assert summarize([]).estimates == ()
    with pytest.raises(ValueError, match="without samples"):
        summarize([[1], []])
    with pytest.raises(ValueError, match="differ in shape"):
        summarize([[1]], scores=[[0.5, 0.5]])
