"""Calibration: is an answer that a model finds likely right more often?

An answer’s confidence is its likelihood, exp(mean token log-probability). The expected calibration error is the
mean distance between confidence and share of right answers over bins of equally many answers (Guo et al. 2017, with
the bins of Nguyen and O'Connor 2015); the Brier score is the mean squared distance of confidence from 1 for a right
answer and 0 for a wrong one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.statistics.estimates import THIS_BANK, Estimate
from healthcheck.stages.probe.statistics.intervals import wilson

BINS, LEAST = 5, 50
"""The bins, and the answers below which nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The two figures, and the bins of the reliability curve: mean confidence, and the share of right answers."""

    error: float
    brier: float
    bins: tuple[tuple[float, Estimate], ...]


def calibration(confidences: Sequence[float], right: Sequence[int]) -> Calibration | None:
    """The calibration of answers; None for too few of them.

    Args:
        confidences: of each answer, from 0 to 1.
        right: 1 or 0 for each.
    """
    pairs = sorted(zip(confidences, right, strict=True), key=lambda pair: pair[0])
    if len(pairs) < LEAST:
        return None
    edges = [len(pairs) * part // BINS for part in range(BINS + 1)]
    bins = [pairs[low:high] for low, high in itertools.pairwise(edges)]
    curve = tuple(
        (sum(confidence for confidence, _ in part) / len(part), _share(part)) for part in bins
    )
    error = sum(abs(mean - share.value) * share.samples for mean, share in curve) / len(pairs)
    brier = sum((confidence - correct) ** 2 for confidence, correct in pairs) / len(pairs)
    return Calibration(error=error, brier=brier, bins=curve)


def _share(part: Sequence[tuple[float, int]]) -> Estimate:
    correct = sum(right for _, right in part)
    interval = wilson(correct, len(part))
    return interval.of("right", correct / len(part), THIS_BANK, problems=0, samples=len(part))
