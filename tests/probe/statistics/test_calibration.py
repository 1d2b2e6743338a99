"""Brier score and calibration error."""

from __future__ import annotations

import random

import pytest

from healthcheck.probe.statistics.calibration import brier, calibration, expected_calibration_error


def test_perfect_and_empty_confidence() -> None:
    assert brier([(1.0, 1), (0.0, 0)]) == 0.0
    assert brier([(0.5, 1), (0.5, 0)]) == 0.25
    assert expected_calibration_error([(1.0, 1), (0.0, 0)]) == 0.0


def test_overconfidence_is_its_size() -> None:
    assert expected_calibration_error([(0.95, 1)] * 6 + [(0.95, 0)] * 4) == pytest.approx(0.35)


def test_bins_do_not_cancel_each_other() -> None:
    assert expected_calibration_error([(0.9, 0), (0.1, 1)]) == pytest.approx(0.9)


def test_estimates_skip_what_has_no_confidence() -> None:
    score, error = calibration([[0.9, None], [None, None], [0.2, 0.7]], [[1, 0], [1, 1], [0, 1]])
    assert (score.name, error.name) == ("Brier score", "ECE")
    assert (score.problems, score.samples) == (2, 3)
    assert score.value == pytest.approx((0.01 + (0.04 + 0.09) / 2) / 2)
    assert calibration([[None]], [[1]]) == ()


def test_noise_alone_is_no_shown_calibration_error() -> None:
    draw = random.Random(2)
    confidences = [[draw.uniform(0.5, 1.0)] * 3 for _ in range(60)]
    matrix = [[int(draw.random() < value) for value in row] for row in confidences]
    score, error = calibration(confidences, matrix)
    assert error.low == 0.0 < error.value <= error.high
    assert score.low < score.value < score.high
    shifted = [[min(1.0, value + 0.3) for value in row] for row in confidences]
    assert calibration(shifted, matrix)[1].low > 0.1


def test_a_calibrated_model_is_rarely_shown_to_be_miscalibrated() -> None:
    draw, replicates, covered = random.Random(8), 100, 0
    for seed in range(replicates):
        confidences = [[draw.betavariate(4, 1) for _ in range(3)] for _ in range(40)]
        matrix = [[int(draw.random() < value) for value in row] for row in confidences]
        covered += calibration(confidences, matrix, seed=seed)[1].low == 0.0
    assert covered / replicates >= 0.9  # nominal: .95 and more; the plain bootstrap has .81
