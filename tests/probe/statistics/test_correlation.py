"""ICC, effective samples, the iid gap and the order test."""

from __future__ import annotations

import random
from itertools import pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.probe.statistics.correlation import (
    clustering,
    counts_of,
    effective_k,
    effective_samples,
    icc,
    iid_gap,
    order_test,
)
from healthcheck.probe.statistics.summary import stratified_average, summarize


def test_deterministic_answers_have_icc_one_and_a_sample_a_problem() -> None:
    matrix = [[1] * 5, [0] * 5, [1] * 5, [0] * 5]
    assert icc(counts_of(matrix)) == pytest.approx(1.0)
    assert effective_samples(counts_of(matrix)) == pytest.approx(4.0)


def test_120_times_5_at_icc_one_half_is_worth_200_samples() -> None:
    # Exact beta-binomial-like shares with ICC .5: a third of the problems always, a third never, a third by halves.
    draw = random.Random(5)
    counts = []
    for _ in range(4000):
        p = draw.betavariate(0.5, 0.5)
        counts.append((5, sum(draw.random() < p for _ in range(5))))
    worth = effective_samples(counts)
    assert worth is not None
    assert worth / len(counts) * 120 == pytest.approx(200, rel=0.05)


def test_one_sample_a_problem_says_nothing_of_clustering_and_is_worth_itself() -> None:
    assert icc([(1, 1), (1, 0)]) is None
    assert effective_samples([(1, 1), (1, 0)]) == 2.0


def test_no_variation_has_no_icc() -> None:
    assert icc(counts_of([[1, 1], [1, 1]])) is None
    assert clustering([[1, 1], [1, 1]]).icc is None
    assert icc(counts_of([[1, 0]])) is None


def test_icc_has_an_interval() -> None:
    draw = random.Random(1)
    matrix = [[int(draw.random() < p) for _ in range(5)] for p in [0.2, 0.9] * 20]
    found = clustering(matrix).icc
    assert found is not None
    assert found.low < found.value < found.high


def test_samples_that_all_agree_do_not_make_the_icc_certain() -> None:
    few, many = (clustering([[1] * 5, [0] * 5] * pairs).icc for pairs in (4, 60))
    assert few is not None
    assert many is not None
    assert few.value == many.value == few.high == pytest.approx(1.0)
    assert few.low < 0.9 < many.low < 0.99


def test_pooled_gap_is_difficulty_and_vanishes_tier_by_tier() -> None:
    # Independent samples, two tiers: pooled, pass@5 seems low; within tiers it is what independence gives.
    draw = random.Random(7)
    rows = [[int(draw.random() < p) for _ in range(20)] for p in [0.95] * 400 + [0.1] * 400]
    tiers = ["easy"] * 400 + ["hard"] * 400
    pooled, within = iid_gap(rows, ["all"] * 800, 5), iid_gap(rows, tiers, 5)
    assert pooled is not None
    assert within is not None
    assert pooled.low > 0.1
    assert within.low <= 0.0 <= within.high


def test_that_every_problem_passed_does_not_make_the_gap_certain() -> None:
    found = iid_gap([[1, 1, 1, 1, 0]] * 20, ["all"] * 20, 5)
    assert found is not None
    assert found.low < 0 < 0.03 < found.high


def test_no_gap_without_enough_samples() -> None:
    assert iid_gap([[1, 0]], ["all"], 3) is None
    assert iid_gap([], [], 1) is None


def test_effective_k_of_a_deterministic_model_is_one() -> None:
    assert effective_k([[1] * 5, [0] * 5], 5) == pytest.approx(1.0)
    assert effective_k([[1] * 5], 5) is None


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=4), min_size=1, max_size=2))
def test_order_test_is_the_permutation_test(matrix: list[list[int]]) -> None:
    def pairs(rows: tuple[tuple[int, ...], ...]) -> int:
        return sum(not a and not b for row in rows for a, b in pairwise(row))

    observed = pairs(tuple(tuple(row) for row in matrix))
    every = [pairs(rows) for rows in product(*(tuple(permutations(row)) for row in matrix))]
    test = order_test(matrix)
    assert test.pairs == observed
    assert test.expected == pytest.approx(sum(every) / len(every))
    assert test.p_value == pytest.approx(sum(count >= observed for count in every) / len(every))


def test_order_test_of_a_large_run_is_near_the_exact_one() -> None:
    """500 problems of four pairs each are the last exact run; one problem more, and the normal distribution counts."""
    draw = random.Random(3)
    usual = [0, 1, 0, 0, 0, 0]
    rows = [draw.sample(usual, 6) for _ in range(500)]
    exact, normal = order_test(rows), order_test([*rows, usual])
    assert 0.02 < exact.p_value < 0.98
    assert normal.p_value == pytest.approx(exact.p_value, abs=0.02)


def test_order_test_sees_samples_that_repeat_the_last_error() -> None:
    draw = random.Random(3)
    sticky, fresh = [], []
    for _ in range(120):
        row = [int(draw.random() < 0.7)]
        while len(row) < 5:
            row.append(0 if not row[-1] and draw.random() < 0.5 else int(draw.random() < 0.7))
        sticky.append(row)
        fresh.append(draw.sample(row, 5))
    assert order_test(sticky).p_value < 0.01 < order_test(fresh).p_value


def test_stratified_average_keeps_the_value_and_narrows_the_interval() -> None:
    matrix = [[1] * 5] * 30 + [[0, 0, 0, 0, 1]] * 30
    tiers = ["easy"] * 30 + ["hard"] * 30
    pooled, mixed = summarize(matrix).estimate("avg@5"), stratified_average(matrix, tiers)
    assert pooled is not None
    assert mixed.value == pooled.value
    assert mixed.high - mixed.low < (pooled.high - pooled.low) / 2
