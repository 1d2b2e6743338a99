"""ICC and effective samples."""

from __future__ import annotations

import random

import pytest

from healthcheck.probe.statistics.correlation import (
    clustering,
    counts_of,
    effective_samples,
    icc,
)


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
