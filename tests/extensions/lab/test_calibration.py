"""Calibration of likelihoods: the figures by hand, and on the page of a run with log-probabilities."""

from __future__ import annotations

import random

import pytest

from healthcheck.extensions.lab.calibration import BINS, calibration


def test_answers_as_often_right_as_they_are_likely_are_calibrated() -> None:
    draw = random.Random(1)
    confidences = [draw.random() for _ in range(20_000)]
    found = calibration(
        confidences, [int(draw.random() < confidence) for confidence in confidences]
    )
    assert found is not None
    assert found.error < 0.02
    assert found.brier == pytest.approx(1 / 6, abs=0.01)  # the mean of p (1 - p) over p from 0 to 1
    assert [round(mean, 1) for mean, _ in found.bins] == [0.1, 0.3, 0.5, 0.7, 0.9]
    assert all(share.low <= mean <= share.high for mean, share in found.bins)


def test_an_answer_that_is_always_certain_and_half_the_time_right_is_not() -> None:
    found = calibration([1.0] * 100, [0, 1] * 50)
    assert found is not None
    assert (found.error, found.brier) == pytest.approx((0.5, 0.5))
    assert [share.samples for _, share in found.bins] == [20] * BINS


def test_answers_of_one_confidence_are_not_ordered_by_being_right() -> None:
    found = calibration([0.8] * 50, [1, 1, 1, 1, 0] * 10)
    assert found is not None
    assert found.error == pytest.approx(0)


def test_few_answers_say_nothing() -> None:
    assert calibration([0.5] * 49, [1] * 49) is None
