"""What reports must satisfy, the contradictions of the sources, and the decision matrix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.probe.statistics.laws import (
    BIASED,
    EVEN,
    FAILING,
    HALF_OF_A_PRINTED_DIGIT,
    RELIABLE,
    UNSTABLE,
    band,
    feasible,
    fewest_problems,
    profile,
    settled,
)
from healthcheck.probe.statistics.summary import summarize

counts = st.integers(1, 8).flatmap(lambda k: st.tuples(st.just(k), st.lists(st.integers(0, k), min_size=1)))


def figures(k: int, correct: list[int]) -> tuple[float, float, float]:
    problems = len(correct)
    return (
        sum(correct) / (k * problems),
        sum(c > 0 for c in correct) / problems,
        sum(2 * c > k for c in correct) / problems,
    )


@given(counts)
def test_whatever_occurs_is_feasible(shape: tuple[int, list[int]]) -> None:
    k, correct = shape
    avg, passed, cons = figures(k, correct)
    assert feasible(avg, passed, cons, k) == ()
    printed = [float(f"{100 * figure:.2f}") / 100 for figure in (avg, passed, cons)]
    assert feasible(printed[0], printed[1], printed[2], k, HALF_OF_A_PRINTED_DIGIT) == ()


@given(
    st.integers(1, 9),
    st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted),
    st.floats(-0.2, 1.2),
)
def test_infeasible_is_exactly_what_no_counts_give(k: int, ordered: list[float], avg: float) -> None:
    # With shares of problems that have c = 0, c in [1, k/2], c > k/2 fixed, the average ranges between two ends.
    cons, passed = ordered
    half = k // 2
    if not half:
        cons = passed
    least = cons * (half + 1) / k + (passed - cons) * (1 / k if half else 0)
    most = cons + (passed - cons) * half / k
    slack = 1e-6
    if least + slack < avg < most - slack:
        assert feasible(avg, passed, cons, k) == ()
    if avg < least - slack or avg > most + slack:
        assert feasible(avg, passed, cons, k) != ()


def test_003_average_above_pass_is_a_bug() -> None:
    assert any("avg@10 <= pass@10" in law for law in feasible(0.5, 0.4, 0.3, 10))


def test_003_avg_80_cons_30_cannot_occur() -> None:
    assert feasible(0.8, 1.0, 0.3, 5)
    assert feasible(0.8, 1.0, 0.3, 100)


def test_003_pass_has_an_upper_bound_from_avg() -> None:
    assert feasible(0.1, 0.9, 0.0, 10) == ()
    assert feasible(0.05, 0.9, 0.0, 100) == ()
    assert feasible(0.05, 0.9, 0.0, 10)


def test_000_low_pass_with_high_cons_cannot_occur() -> None:
    assert any("cons@5 <= pass@5" in law for law in feasible(0.4, 0.4, 0.9, 5))


def test_002_sample_is_feasible_and_needs_25_problems() -> None:
    assert feasible(0.056, 0.24, 0.0, 5) == ()
    assert fewest_problems(0.056, 0.24, 0.0, 5) == 25


def test_figures_that_no_small_bank_prints_have_no_size() -> None:
    assert fewest_problems(0.123456, 0.5, 0.1, 5, limit=50) is None
    assert fewest_problems(0.5, 0.5, 0.5, 5) == 2


@pytest.mark.parametrize(
    ("passed", "avg", "cons", "agreement", "row"),
    [
        (0.95, 0.6, 0.4, None, UNSTABLE),
        (0.7, 0.6, 0.6, None, EVEN),
        (0.1, 0.05, 0.0, None, FAILING),
        (0.1, 0.05, 0.0, 0.9, BIASED),
        (0.1, 0.05, 0.0, 0.3, FAILING),
        (0.95, 0.9, 0.9, None, RELIABLE),
        (0.95, 0.4, 0.1, None, None),
    ],
)
def test_decision_matrix_without_its_impossible_row(
    passed: float, avg: float, cons: float, agreement: float | None, row: object
) -> None:
    assert profile(passed, avg, cons, agreement) == row


def test_bands_are_the_documents() -> None:
    assert [band(x).value for x in (0.81, 0.8, 0.5, 0.49)] == ["high", "mid", "mid", "low"]


@pytest.mark.parametrize(("problems", "right", "sure"), [(200, 195, True), (20, 16, False)])
def test_a_situation_is_settled_only_by_whole_intervals(problems: int, right: int, sure: bool) -> None:
    found = summarize([[1] * 5] * right + [[0] * 5] * (problems - right))
    headline = [estimate for name in ("pass", "avg", "cons") if (estimate := found.estimate(f"{name}@5"))]
    assert len(headline) == 3
    assert settled(headline) is sure
