"""The intervals against scipy and against the definitions of the statistics reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.statistics.counting import pass_at_k
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, THIS_BANK
from healthcheck.stages.probe.statistics.intervals import by_problem, clopper_pearson, wilson
from healthcheck.stages.probe.statistics.summary import summarize

stats = pytest.importorskip("scipy.stats")
shares = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(st.integers(2, 400), st.data())
def test_problems_of_one_sample_have_about_the_exact_limits(
    problems: int, data: st.DataObject
) -> None:
    """One sample a problem is a binomial; half a problem more of each kind makes the limits a little wider."""
    right = data.draw(st.integers(0, problems))
    interval = by_problem([1.0] * right + [0.0] * (problems - right))
    exact = stats.binomtest(right, problems).proportion_ci(0.95, "exact")
    assert interval.low <= exact.low + 0.02
    assert interval.high >= exact.high - 0.02
    assert interval.high - interval.low <= exact.high - exact.low + 0.05 + 2 / problems


def test_equal_problems_are_not_certain_and_one_lost_sample_widens_little() -> None:
    whole, one_lost = by_problem([1.0] * 60), by_problem([1.0] * 59 + [0.8])
    assert whole.high == 1.0
    assert 0.93 < whole.low < 0.96
    assert whole.low - 0.02 < one_lost.low < whole.low + 0.02


def test_tiers_narrow_the_interval_where_they_differ() -> None:
    values, tiers = (
        [1.0] * 39 + [0.8] + [0.8, 0.6] * 20 + [0.2, 0.0] * 20,
        ["a"] * 40 + ["b"] * 40 + ["c"] * 40,
    )
    alike, apart = by_problem(values), by_problem(values, tiers)
    assert apart.high - apart.low < 0.6 * (alike.high - alike.low)
    assert by_problem(values, ["a"] * 120) == alike
    assert by_problem([1.0, 0.0, 0.5], ["a", "b", "c"]) == by_problem([1.0, 0.0, 0.5])


@pytest.mark.parametrize("value", [pass_at_k(56, 18, 38), 1 - 1e-16, 1e-17, 5e-324])
def test_a_mean_next_to_an_end_has_limits(value: float) -> None:
    for values in ([value], [value, value], [value, 1.0]):
        interval = by_problem(values)
        assert 0.0 <= interval.low <= interval.high <= 1.0


def test_no_problem_says_nothing() -> None:
    assert (by_problem([]).low, by_problem([]).high) == (0.0, 1.0)


@given(shares)
def test_every_interval_encloses_its_estimate(values: list[float]) -> None:
    mean = sum(values) / len(values)
    for interval in (by_problem(values), wilson(sum(values), len(values))):
        assert 0.0 <= interval.low <= mean + 1e-12
        assert mean - 1e-12 <= interval.high <= 1.0


@pytest.mark.parametrize(("right", "trials"), [(0, 5), (5, 5), (28, 600), (480, 600), (1, 1)])
def test_wilson_and_clopper_pearson_are_scipys(right: int, trials: int) -> None:
    test = stats.binomtest(right, trials)
    for method, interval in (
        ("wilson", wilson(right, trials)),
        ("exact", clopper_pearson(right, trials)),
    ):
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
    assert (again.low, again.high) == pytest.approx(
        tuple(stats.binomtest(50, 100).proportion_ci(0.95, "wilson"))
    )


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
