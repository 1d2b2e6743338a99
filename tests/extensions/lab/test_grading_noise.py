"""The correction for grading errors: exact expectations, and the measured figures of the reference."""

from __future__ import annotations

import math

import pytest

from healthcheck.extensions.lab.grading_noise import corrected_avg, corrected_pass_at_k, unbiased_pass_at_k
from healthcheck.stages.probe.statistics.counting import pass_at_k
from healthcheck.stages.probe.statistics.summary import summarize


def expectation(p: float, n: int, figure: dict[int, float]) -> float:
    return sum(math.comb(n, c) * p**c * (1 - p) ** (n - c) * value for c, value in figure.items())


@pytest.mark.parametrize(("n", "k"), [(10, 10), (20, 10), (5, 1), (8, 3)])
def test_pass_at_k_is_unbiased_under_grading_errors(n: int, k: int) -> None:
    p, fn, fp = 0.1, 0.05, 0.02
    seen = p * (1 - fn) + (1 - p) * fp
    corrected = {c: unbiased_pass_at_k(n, c, k, fn, fp) for c in range(n + 1)}
    assert expectation(seen, n, corrected) == pytest.approx(1 - (1 - p) ** k, abs=1e-9)


def test_reference_figures_of_the_naive_and_the_corrected_pass() -> None:
    p, fn, fp, k = 0.1, 0.05, 0.02, 10
    seen = p * (1 - fn) + (1 - p) * fp
    naive = expectation(seen, k, {c: pass_at_k(k, c, k) for c in range(k + 1)})
    assert (round(naive, 4), round(1 - (1 - p) ** k, 4)) == (0.6985, 0.6513)


def test_a_dead_model_seems_to_pass_when_two_percent_of_wrong_answers_do() -> None:
    assert [round(100 * (1 - 0.98**k), 1) for k in (5, 10)] == [9.6, 18.3]
    assert expectation(0.02, 5, {c: unbiased_pass_at_k(5, c, 5, 0.0, 0.02) for c in range(6)}) == pytest.approx(0)


def test_without_errors_nothing_changes() -> None:
    matrix = [[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]]
    plain = summarize(matrix).estimate("pass@2")
    assert plain is not None
    corrected = corrected_pass_at_k([(4, 3), (4, 0), (4, 4)], 2, 0.0, 0.0)
    assert corrected.value == pytest.approx(plain.value)


def test_average_and_its_interval_are_moved_and_widened() -> None:
    plain = summarize([[1, 0, 1, 0, 0]] * 40).estimate("avg@5")
    assert plain is not None
    corrected = corrected_avg(plain, 0.05, 0.02)
    assert corrected.value == pytest.approx((0.4 - 0.02) / 0.93)
    assert corrected.high - corrected.low == pytest.approx((plain.high - plain.low) / 0.93)
    assert "fn=0.05 fp=0.02" in corrected.method
    with pytest.raises(ValueError, match="says nothing"):
        corrected_avg(plain, 0.5, 0.5)


def test_a_corrected_figure_stays_a_share() -> None:
    estimate = corrected_pass_at_k([(5, 0)] * 10, 5, 0.1, 0.1)
    assert 0.0 == estimate.low <= estimate.value <= estimate.high <= 1.0
