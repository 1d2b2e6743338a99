"""Does confidence match correctness? Where a server gives log-probabilities: Brier score and calibration error."""

from __future__ import annotations

import random
from collections.abc import Sequence

from healthcheck.probe.statistics.intervals import LEVEL, bootstrap, percentile
from healthcheck.probe.statistics.records import LIKE_THESE, Estimate

BINS = 10
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
    """Brier score and ECE with bootstrap intervals over problems; empty where no sample has a confidence.

    Args:
        confidences: exp(mean token log-probability) of each sample, None where the server gave none.
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
    pooled = [pair for row in rows for pair in row]
    scores = [brier(row) for row in rows]
    interval = bootstrap(scores, seed=seed)
    draw = random.Random(seed)
    errors = sorted(
        expected_calibration_error([pair for row in draw.choices(rows, k=len(rows)) for pair in row])
        for _ in range(400)
    )
    tail = (1 - LEVEL) / 2
    figures = (
        ("Brier score", sum(scores) / len(scores), interval.low, interval.high),
        ("ECE", expected_calibration_error(pooled), percentile(errors, tail), percentile(errors, 1 - tail)),
    )
    return tuple(
        Estimate(
            name=name,
            value=value,
            low=min(low, value),
            high=max(high, value),
            level=LEVEL,
            method="bootstrap percentile over problems",
            question=LIKE_THESE,
            problems=len(rows),
            samples=len(pooled),
        )
        for name, value, low, high in figures
    )
