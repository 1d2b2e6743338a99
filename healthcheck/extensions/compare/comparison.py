"""Compares two runs over the same problems: is a loss within the margin, or is the second run worse?

"No worse" is non-inferiority: the lower bound of the mean difference is above minus the margin. A loss is not shown
merely because "no worse" is not: that needs the tests of "nothing changed" (`changes`) against a loss, at 1 %, and
so at least seven problems that lost.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.statistics.changes import (
    FEW_DIFFER,
    LEAST_PROBLEMS,
    ChangeTest,
    change_tests,
    loss_p,
)
from healthcheck.stages.probe.statistics.counting import Counts
from healthcheck.stages.probe.statistics.distributions import (
    normal_quantile,
    sample_variance,
    t_quantile,
)
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, Estimate
from healthcheck.stages.probe.statistics.intervals import LEVEL, Interval

LOSS_ERROR = 0.01
"""How often a run of a server of equal accuracy is called worse, at most: independent samples or copies."""


class Shift(enum.Enum):
    """The result of the comparison for the second run."""

    NO_WORSE = "no worse"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The second run against the first, on one tier or on all problems.

    Attributes:
        first, second: avg@n of each run, with equal weight for each problem.
        difference: second minus first, with its two-sided interval; None for fewer than two problems.
        lower_bound: one-sided 95 % bound of the difference, compared with the margin. If few problems differ, two
            more that differ, one in each direction, widen it; it may then lie below the interval.
        margin: the acceptable loss.
        loss_p: one-sided p of "nothing changed on these problems" against a loss.
        shift: NO_WORSE if a loss of the margin is excluded (the bound is above it), even if a smaller one is shown,
            and the first run has more than the margin to lose; else WORSE if a loss is shown (loss_p is at most
            LOSS_ERROR), which need not exceed the margin; else, and for few problems, UNDECIDED.
        minimal_detectable: the drop that such a comparison detects in four cases of five.
        tests: the result of `change_tests`.
        too_few: fewer problems than the interval needs.
    """

    tier: str
    problems: int
    first: float
    second: float
    difference: Estimate | None
    lower_bound: float
    margin: float
    loss_p: float
    shift: Shift
    minimal_detectable: float
    tests: tuple[ChangeTest, ...]
    too_few: bool

    @property
    def loss_shown(self) -> bool:
        """Whether the test by problem excludes an unchanged accuracy."""
        return self.loss_p <= LOSS_ERROR and not self.too_few

    @property
    def changed_p(self) -> float:
        """Two-sided p of "nothing changed on these problems": the largest."""
        return max(test.changed_p for test in self.tests)

    @property
    def within_margin(self) -> bool:
        """Whether even a total loss would be within the margin, so that excluding the margin is meaningless."""
        return self.first <= self.margin

    @property
    def problems_needed(self) -> int | None:
        """About how many problems would settle the comparison in nine of ten cases, for the measured difference."""
        if (
            self.difference is None
            or self.too_few
            or self.within_margin
            or self.shift is not Shift.UNDECIDED
        ):
            return None
        spread = (
            (self.difference.high - self.difference.low)
            / 2
            / normal_quantile((1 + self.difference.level) / 2)
        )
        distance = max(self.difference.value + self.margin, -self.difference.value)
        enough = (normal_quantile(1 - LOSS_ERROR) + normal_quantile(0.9)) * spread / distance
        return max(self.problems + 1, math.ceil(self.problems * enough**2))

    @property
    def beyond_margin(self) -> bool:
        """Whether the interval excludes a loss within the margin."""
        return bool(self.loss_shown and self.difference and self.difference.high < -self.margin)


def compare(first: Counts, second: Counts, *, margin: float, tier: str = "all") -> Comparison:
    """Compare two runs problem by problem.

    Args:
        first: (n, c) of each problem in the reference run.
        second: the same problems in the same order.
        margin: the acceptable loss, a fraction.
        tier: the name of this set of problems.

    Raises:
        ValueError: the runs differ in the number of problems, or have none.
    """
    if len(first) != len(second) or not first:
        raise ValueError("a comparison needs the same problems in both runs")
    problems = len(first)
    differences = [cb / nb - ca / na for (na, ca), (nb, cb) in zip(first, second, strict=True)]
    difference, spread = _paired_t(differences, sum(n for n, _ in (*first, *second)))
    bound = (
        max(-1.0, difference.value - t_quantile(LEVEL, problems - 1) * spread)
        if difference
        else -1.0
    )
    accuracy = sum(c / n for n, c in first) / problems
    p_value = loss_p(first, second)
    return Comparison(
        tier=tier,
        problems=problems,
        first=accuracy,
        second=sum(c / n for n, c in second) / problems,
        difference=difference,
        lower_bound=bound,
        margin=margin,
        loss_p=p_value,
        shift=_shift(difference, bound > -margin and accuracy > margin, p_value),
        minimal_detectable=(normal_quantile(0.95) + normal_quantile(0.8)) * spread,
        tests=change_tests(first, second),
        too_few=problems < LEAST_PROBLEMS,
    )


def _paired_t(differences: Sequence[float], samples: int) -> tuple[Estimate | None, float]:
    """The mean with its interval, and a conservative standard error: wider if few problems differ."""
    problems = len(differences)
    wider = math.sqrt(sample_variance([*differences, -1.0, 1.0]) / problems)
    if problems < 2:
        return None, wider
    mean = math.fsum(differences) / problems
    spread, method = math.sqrt(sample_variance(differences) / problems), "paired t over problems"
    if not spread:  # no two problems differ: this is not certainty, so two that differ are assumed
        spread, method = wider, "paired t, plus-2"
    half = t_quantile((1 + LEVEL) / 2, problems - 1) * spread
    interval = Interval(
        low=max(-1.0, mean - half), high=min(1.0, mean + half), level=LEVEL, method=method
    )
    estimate = interval.of(
        "difference of avg@n", mean, LIKE_THESE, problems=problems, samples=samples
    )
    return estimate, wider if sum(map(bool, differences)) < FEW_DIFFER else spread


def _shift(difference: Estimate | None, excluded: bool, p_value: float) -> Shift:
    if difference is None or difference.problems < LEAST_PROBLEMS:
        return Shift.UNDECIDED
    if excluded:
        return Shift.NO_WORSE
    return Shift.WORSE if p_value <= LOSS_ERROR else Shift.UNDECIDED
