"""Does confidence match correctness? Where a server gives log-probabilities: Brier score and calibration error."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from healthcheck.probe.statistics.intervals import LEVEL, Interval, percentile, plus_two_t
from healthcheck.probe.statistics.records import Estimate
from healthcheck.probe.statistics.summary import per_problem

BINS = 10
RESAMPLES = 400
Pairs = Sequence[tuple[float, int]]
"""(confidence in [0, 1], correct 0 or 1) of each sample."""


def brier(pairs: Pairs) -> float:
    """The mean squared distance of confidence and correctness; 0 is perfect, .25 is a coin that knows nothing."""
    return sum((confidence - right) ** 2 for confidence, right in pairs) / len(pairs)


def expected_calibration_error(pairs: Pairs) -> float:
    """The mean distance of confidence and accuracy over ten bins of equal width, weighted by their samples."""
    bins: list[list[tuple[float, int]]] = [[] for _ in range(BINS)]
    for confidence, right in pairs:
        bins[min(int(confidence * BINS), BINS - 1)].append((confidence, right))
    distances = (abs(sum(confidence - right for confidence, right in part)) for part in bins)
    return sum(distances) / len(pairs)


def calibration(
    confidences: Sequence[Sequence[float | None]], matrix: Sequence[Sequence[int]], *, seed: int = 0
) -> tuple[Estimate, ...]:
    """Brier score and ECE with their intervals; empty if no sample has a confidence.

    Args:
        confidences: exp(mean token log-probability) of each sample, None if the server gave none.
        matrix: correctness of the same shape.
        seed: of the bootstrap.
    """
    rows: list[list[tuple[float, int]]] = [
        [(c, right) for c, right in zip(known, graded, strict=True) if c is not None]
        for known, graded in zip(confidences, matrix, strict=True)
    ]
    rows = [row for row in rows if row]
    if not rows:
        return ()
    scores = [brier(row) for row in rows]
    samples = sum(map(len, rows))
    return per_problem("Brier score", scores, plus_two_t(scores), samples), _error(rows, samples, seed)


def _error(rows: Sequence[Pairs], samples: int, seed: int) -> Estimate:
    """The calibration error. Noise alone makes it positive, and resampling adds more: the low end gives it back.

    Where noise alone, with the correlation of a problem's samples, explains the value, the low end is 0.
    """
    value = expected_calibration_error([pair for row in rows for pair in row])
    draw = random.Random(seed)
    noise = _of_noise(rows, draw)
    errors = sorted(
        expected_calibration_error([pair for row in draw.choices(rows, k=len(rows)) for pair in row])
        for _ in range(RESAMPLES)
    )
    tail = (1 - LEVEL) / 2
    bias = sum(errors) / len(errors) - value
    high = percentile(errors, 1 - tail)
    interval = Interval(
        low=0.0 if value <= percentile(noise, 1 - tail) else max(0.0, min(value, 2 * value - high - bias)),
        high=max(high, value),
        level=LEVEL,
        method="bootstrap over problems, low end 0 where noise explains the value",
    )
    return replace(per_problem("ECE", [value], interval, samples), problems=len(rows))


def _of_noise(rows: Sequence[Pairs], draw: random.Random) -> list[float]:
    """Sorted errors of as noisy a run that is calibrated: the residuals of each problem with a random sign."""
    residuals: list[dict[int, float]] = []
    for row in rows:
        by_bin: dict[int, float] = {}
        for confidence, right in row:
            place = min(int(confidence * BINS), BINS - 1)
            by_bin[place] = by_bin.get(place, 0.0) + confidence - right
        residuals.append(by_bin)
    samples = sum(map(len, rows))
    errors = []
    for _ in range(RESAMPLES):
        bins = [0.0] * BINS
        for by_bin in residuals:
            sign = 1 if draw.random() < 0.5 else -1
            for place, residual in by_bin.items():
                bins[place] += sign * residual
        errors.append(sum(map(abs, bins)) / samples)
    return sorted(errors)
