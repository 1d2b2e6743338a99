"""Compares two runs over the same problems: did anything change, and is a loss within the margin?

"Did anything change" is a sign test: without a change, each problem is equally likely to be better in either run.
The unit is the problem, because its samples may be copies: near temperature 0, one close call that changes looks
like five lost answers. "No worse" is non-inferiority: the lower bound of the mean difference is above minus the
margin. A p-value above .05 does not show that nothing changed. A loss is not shown merely because "no worse" is
not: that needs the same test against a loss, at 1 %, and so at least seven problems that lost.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.statistics.counting import Counts
from healthcheck.stages.probe.statistics.distributions import (
    chi_square_1_upper_tail,
    normal_quantile,
    normal_upper_tail,
    sample_variance,
    t_quantile,
)
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, Estimate
from healthcheck.stages.probe.statistics.intervals import LEVEL
from healthcheck.text.messages import msg

LEAST_PROBLEMS = 20
"""With fewer problems the paired t interval has too little coverage (at 8, down to .73)."""
FEW_DIFFER = 20
"""With fewer problems that differ, the lost ones say little about how many more there might be.

Of 60 answers at temperature 0, 5 % of which are lost, the plain bound excludes a loss of 5 % in 19 cases of 100.
"""


LOSS_ERROR = 0.01
"""How often a run of a server of equal accuracy is called worse, at most: independent samples or copies."""
_EXACT_BITS = 2**22
"""The memory for the exact distribution of the signs; above it the normal approximation is exact enough."""


class Shift(enum.Enum):
    """The result of the comparison for the second run."""

    NO_WORSE = "no worse"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTest:
    """A test of "nothing changed".

    Attributes:
        name: the name of the test.
        changed_p: two-sided.
        worse_p: one-sided; small if the second run is worse.
    """

    name: str
    changed_p: float
    worse_p: float


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
        if self.difference is None or self.too_few or self.within_margin or self.shift is not Shift.UNDECIDED:
            return None
        spread = (self.difference.high - self.difference.low) / 2 / normal_quantile((1 + self.difference.level) / 2)
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
    bound = max(-1.0, difference.value - t_quantile(LEVEL, problems - 1) * spread) if difference else -1.0
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


def change_tests(first: Counts, second: Counts) -> tuple[ChangeTest, ...]:
    """The tests of "nothing changed on these problems"; the largest p counts.

    The signs suffice if the runs have equally many samples of each problem. Otherwise an accuracy near 0 or 1 skews
    the differences, and CMH by problem is needed too.
    """
    signs = signs_by_problem(first, second)
    if all(na == nb for (na, _), (nb, _) in zip(first, second, strict=True)):
        return (signs,)
    return signs, cochran_mantel_haenszel(first, second)


def loss_p(first: Counts, second: Counts) -> float:
    """The one-sided p of "nothing changed on these problems" against a loss."""
    return max(test.worse_p for test in change_tests(first, second))


def cochran_mantel_haenszel(first: Counts, second: Counts) -> ChangeTest:
    """The stratified test of equal probabilities on each problem; one-sided with continuity correction."""
    excess, variance = _excess(first, second)
    if not variance:
        return ChangeTest(name=msg("CMH by problem"), changed_p=1.0, worse_p=1.0)
    return ChangeTest(
        name=msg("CMH by problem"),
        changed_p=chi_square_1_upper_tail(excess**2 / variance),
        worse_p=normal_upper_tail(-(excess + 0.5) / math.sqrt(variance)),
    )


def signs_by_problem(first: Counts, second: Counts) -> ChangeTest:
    """The test with the problem as the unit: each is equally likely to be better in either run.

    Exact over all choices of the signs of the differences; McNemar's test if each problem has one sample.
    """
    differences = [na * cb - nb * ca for (na, ca), (nb, cb) in zip(first, second, strict=True)]
    better, worse = _as_large(differences), _as_large([-difference for difference in differences])
    once = all(n == 1 for n, _ in (*first, *second))
    return ChangeTest(
        name=msg("exact McNemar") if once else msg("signs by problem"),
        changed_p=min(1.0, 2 * min(better, worse)),
        worse_p=worse,
    )


def _excess(first: Counts, second: Counts) -> tuple[float, float]:
    """Right samples of the second run above the expectation from the problems' margins, and the variance."""
    excess = variance = 0.0
    for (na, ca), (nb, cb) in zip(first, second, strict=True):
        total, right = na + nb, ca + cb
        excess += cb - nb * right / total
        if total > 1:
            variance += na * nb * right * (total - right) / (total**2 * (total - 1))
    return excess, variance


def _as_large(differences: Sequence[int]) -> float:
    """The share of all choices of signs in which the positive differences sum up to at least as much."""
    sizes = [abs(difference) for difference in differences if difference]
    if not sizes:
        return 1.0
    unit, width = math.gcd(*sizes), len(sizes) + 1
    if sum(sizes) // unit * width > _EXACT_BITS:
        return normal_upper_tail(sum(differences) / math.hypot(*sizes))
    ways = 1  # bits from i * width on: the number of choices with the sum i
    for size in sizes:
        ways += ways << size // unit * width
    ways >>= sum(difference for difference in differences if difference > 0) // unit * width
    return ways % ((1 << width) - 1) / (1 << len(sizes))  # the remainder is the sum of the `width`-bit numbers


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
    estimate = Estimate(
        name="difference of avg@n",
        value=mean,
        low=max(-1.0, mean - half),
        high=min(1.0, mean + half),
        level=LEVEL,
        method=method,
        question=LIKE_THESE,
        problems=problems,
        samples=samples,
    )
    return estimate, wider if sum(map(bool, differences)) < FEW_DIFFER else spread


def _shift(difference: Estimate | None, excluded: bool, p_value: float) -> Shift:
    if difference is None or difference.problems < LEAST_PROBLEMS:
        return Shift.UNDECIDED
    if excluded:
        return Shift.NO_WORSE
    return Shift.WORSE if p_value <= LOSS_ERROR else Shift.UNDECIDED
