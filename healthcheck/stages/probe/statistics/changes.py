"""Tests of "nothing changed": did a second run over the same problems change, and did it lose?

The unit is the problem, because its samples may be copies: near temperature 0, one close call that changes looks
like five lost answers. The test is a sign test: without a change, each problem is equally likely to be better in
either run. A p-value above .05 does not show that nothing changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.statistics.counting import Counts
from healthcheck.stages.probe.statistics.distributions import normal_upper_tail
from healthcheck.text.messages import msg

LEAST_PROBLEMS = 20
"""With fewer problems the paired t interval has too little coverage (at 8, down to .73)."""
FEW_DIFFER = 20
"""With fewer problems that differ, the lost ones say little about how many more there might be.

Of 60 answers at temperature 0, 5 % of which are lost, the plain bound excludes a loss of 5 % in 19 cases of 100.
"""
_EXACT_BITS = 2**22
"""The memory for the exact distribution of the signs; above it the normal approximation is exact enough."""


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
        changed_p=2 * normal_upper_tail(abs(excess) / math.sqrt(variance)),
        worse_p=normal_upper_tail(-(excess + 0.5) / math.sqrt(variance)),
    )


def signs_by_problem(first: Counts, second: Counts) -> ChangeTest:
    """The test with the problem as the unit: each is equally likely to be better in either run.

    Exact over all choices of the signs of the differences; McNemar's test if each problem has one sample.
    """
    differences = [na * cb - nb * ca for (na, ca), (nb, cb) in zip(first, second, strict=True)]
    better, worse = _as_large(differences), _as_large([-difference for difference in differences])
    once = all(n == 1 for n, _ in (*first, *second))
    name = msg("exact McNemar") if once else msg("signs by problem")
    changed_p = min(1.0, 2 * min(better, worse))
    return ChangeTest(name=name, changed_p=changed_p, worse_p=worse)


def better_alone_p(asked: Sequence[tuple[int, int, bool]]) -> float:
    """The chance of as many right answers alone, if each is any of its problem's answers (samples, right, alone).

    Exact: the answer alone is right with probability (c + s) / (n + 1), independently for each problem.
    """
    chances = [1.0]
    for samples, right, alone in asked:
        share = (right + alone) / (samples + 1)
        chances = [
            one * (1 - share) + other * share
            for one, other in zip([*chances, 0.0], [0.0, *chances], strict=True)
        ]
    return min(1.0, sum(chances[sum(alone for _, _, alone in asked) :]))


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
    return (
        ways % ((1 << width) - 1) / (1 << len(sizes))
    )  # the remainder is the sum of the `width`-bit numbers
