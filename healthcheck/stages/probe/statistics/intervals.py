"""Intervals, each for the question that it answers.

For other problems like these the unit is the problem: the limits of Clopper and Pearson for as many independent
samples as have the variance of the mean over problems (Korn and Graubard, Survey Methodology 24, 1998), which is
that within tiers where there are any. For the same problems sampled again the samples are independent, and a sum of
unequal Bernoullis has less variance than a binomial: Wilson on all samples. docs/statistics.md has the coverage.
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
from healthcheck.stages.probe.statistics.estimates import Estimate

LEVEL = 0.95
_ALMOST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval and its method."""

    low: float
    high: float
    level: float
    method: str

    def of(
        self, name: str, value: float, question: str, *, problems: int, samples: int
    ) -> Estimate:
        """The figure that has this interval."""
        return Estimate(
            name=name, value=value, low=self.low, high=self.high, level=self.level, method=self.method,
            question=question, problems=problems, samples=samples,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of values in [0, 1], one for each problem; problems of a tier are drawn alike.

    Attributes:
        variance: of the mean, increased by what half a problem that is all right and half one that is all wrong
            would add at most: equal values do not show that all others are equal, too.
        freedom: degrees of freedom of the variance (Satterthwaite).
    """

    value: float
    problems: int
    variance: float
    freedom: float

    def limits(self, tail: float) -> tuple[float, float]:
        """The limits, each of which is to be missed with this probability."""
        added = (self.value * self.problems + 0.5) / (self.problems + 1)
        shrunk = (normal_quantile(1 - tail) / t_quantile(1 - tail, self.freedom)) ** 2
        size = added * (1 - added) / self.variance * shrunk
        right = self.value * size
        low, high = _of_binomial(right, size, tail)
        return min(low, self.value), max(high, self.value)


def mean_by_problem(values: Sequence[float], tiers: Sequence[str] = ()) -> Mean:
    """The mean of at least one value; `tiers` has the tier of each problem, and is empty where all are alike."""
    total, variance, shares = len(values), 0.0, []
    for group in _groups(values, tiers or [""] * total):
        of_group = (len(group) / total) ** 2 * (
            sample_variance(group) / len(group) if len(group) > 1 else 0.0
        )
        variance += of_group
        shares.append(of_group**2 / max(len(group) - 1, 1))
    padded = variance + 0.5 / (total + 1) / total
    freedom = padded**2 / math.fsum(shares) if any(shares) else math.inf
    return Mean(
        value=fmean(values), problems=total, variance=padded,
        freedom=max(1.0, min(freedom, total - len(shares))),
    )  # fmt: skip


def by_problem(values: Sequence[float], tiers: Sequence[str] = ()) -> Interval:
    """The interval of the mean for other problems like these; from 0 to 1 without a value."""
    low, high = mean_by_problem(values, tiers).limits((1 - LEVEL) / 2) if values else (0.0, 1.0)
    return Interval(low=low, high=high, level=LEVEL, method="clustered Clopper-Pearson")


def _groups(values: Sequence[float], tiers: Sequence[str]) -> list[list[float]]:
    """The values of each tier; a tier of one problem has no variance of its own, and joins the smallest other."""
    by_tier: dict[str, list[float]] = {}
    for value, tier in zip(values, tiers, strict=True):
        by_tier.setdefault(tier, []).append(value)
    groups: list[list[float]] = []
    for group in sorted(by_tier.values(), key=len, reverse=True):
        if len(group) > 1 or not groups:
            groups.append(group)
        else:
            groups[-1] = groups[-1] + group
    return groups


def wilson(successes: float, trials: float) -> Interval:
    """Wilson's score interval; for scores in [0, 1] pass their sum, whose variance is at most that of a count."""
    if trials <= 0:
        return Interval(low=0.0, high=1.0, level=LEVEL, method="pooled Wilson")
    z = normal_quantile((1 + LEVEL) / 2)
    share, shrink = successes / trials, 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / shrink
    spread = math.sqrt(max(share * (1 - share), 0.0) / trials + z * z / (4 * trials**2))
    half = z * spread / shrink
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(low=min(low, share), high=max(high, share), level=LEVEL, method="pooled Wilson")


def clopper_pearson(successes: int, trials: int) -> Interval:
    """The exact interval of a binomial share; used for rare events, such as answers that flip."""
    low, high = _of_binomial(successes, trials, (1 - LEVEL) / 2)
    return Interval(low=low, high=high, level=LEVEL, method="Clopper-Pearson")


def _of_binomial(right: float, size: float, tail: float) -> tuple[float, float]:
    """The limits of Clopper and Pearson for a share of `right` of `size`, which need not be whole numbers."""
    low = beta_quantile(tail, right, size - right + 1) if right > _ALMOST else 0.0
    high = beta_quantile(1 - tail, right + 1, size - right) if size - right > _ALMOST else 1.0
    return low, high


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value at this share of sorted values, with linear interpolation."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
