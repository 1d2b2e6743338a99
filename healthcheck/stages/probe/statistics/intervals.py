"""Intervals, each for the question that it answers.

For other problems like these the unit is the problem: the plus-2 clustered t. For the same problems sampled again
the samples are independent, and a sum of unequal Bernoullis has less variance than a binomial: Wilson on all
samples. Measured coverage at 95 %: at least .93 for the plus-2 t, while the plain clustered interval drops to .15,
and a Wilson interval on all samples, applied to other problems, to .14.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from healthcheck.stages.probe.statistics.distributions import (
    beta_quantile,
    normal_quantile,
    sample_variance,
    t_quantile,
)

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval and its method."""

    low: float
    high: float
    level: float
    method: str


def plus_two_t(values: Sequence[float]) -> Interval:
    """The clustered t interval for the mean of per-problem values in [0, 1], with two pseudo-problems.

    One all-wrong and one all-right problem are appended (M = N + 2), then m ± t(M-1) s/√M, clipped to [0, 1].
    """
    centre, half = plus_two_centre(values)
    return _around(centre, half, "plus-2 clustered t", sum(values) / len(values) if values else 0.5)


def plus_two_centre(values: Sequence[float]) -> tuple[float, float]:
    """The centre and the half width of `plus_two_t` before clipping."""
    padded = (*values, 0.0, 1.0)
    half = t_quantile((1 + LEVEL) / 2, len(padded) - 1) * math.sqrt(sample_variance(padded) / len(padded))
    return fmean(padded), half


def wilson(successes: float, trials: float) -> Interval:
    """Wilson's score interval; for scores in [0, 1] pass their sum, whose variance is at most that of a count."""
    if trials <= 0:
        return Interval(low=0.0, high=1.0, level=LEVEL, method="pooled Wilson")
    z = normal_quantile((1 + LEVEL) / 2)
    share, shrink = successes / trials, 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    spread = math.sqrt(max(share * (1 - share), 0.0) / trials + z * z / (4 * trials**2))
    return _around(centre, z * spread / shrink, "pooled Wilson", share)


def clopper_pearson(successes: int, trials: int) -> Interval:
    """The exact interval of a binomial share; used for rare events, such as answers that flip."""
    tail = (1 - LEVEL) / 2
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, trials - successes + 1)
    high = 1.0 if successes == trials else beta_quantile(1 - tail, successes + 1, trials - successes)
    return Interval(low=low, high=high, level=LEVEL, method="Clopper-Pearson")


def _around(centre: float, half: float, method: str, value: float) -> Interval:
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(low=min(low, value), high=max(high, value), level=LEVEL, method=method)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value at this share of sorted values, with linear interpolation."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
