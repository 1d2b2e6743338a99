"""Adaptive k: when sampling of a problem may stop because the most frequent of n answers is known.

Certain: the leader's margin is larger than the number of remaining samples (curtailed sampling). Settled at an
error: the votes (a, b) of the leader and the runner-up lie in a region R. Samples of a problem are exchangeable: of
any n answers with A in l of them and B in m >= l, every order is equally likely, so A ever leads B within R with
probability

    1 - (paths from (0, 0) to (l, m) that avoid R) / C(l + m, l)

A wrong stop requires this for some A against the final most frequent answer B; the sum over all such A, for the
worst possible n answers, is at most the error. R holds the (a, b) whose probability is below one level if two
answers share all n samples; the level is the highest that keeps the error. There is no model and no prior, unlike
in Adaptive-Consistency (Aggarwal et al. 2023), whose Beta posterior does not bound its errors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from healthcheck.stages.probe.statistics.voting import Answers

Region = frozenset[tuple[int, int]]
"""(a, b): votes for the leader and for the runner-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """When to stop sampling a problem of at most n samples.

    Attributes:
        n: the samples of a problem that is never settled.
        error: the greatest share of problems that stop with another answer than the most frequent of n.
    """

    n: int
    error: float

    def __post_init__(self) -> None:
        if self.n < 1 or not 0 <= self.error < 0.5:
            raise ValueError(f"needs n >= 1 and 0 <= error < .5, got n={self.n}, error={self.error}")

    @property
    def region(self) -> Region:
        """The region in which the leader is settled at the error; empty for an error of 0."""
        return _region(self.n, self.error)

    @property
    def least(self) -> int:
        """The first number of samples at which any problem can stop; every problem has at least these."""
        return min([self.n // 2 + 1, *(a + b for a, b in self.region)])

    def stops_at(self, answers: Answers) -> int | None:
        """The number of these samples, in their order, after which sampling stops; None if they do not suffice.

        An answer that could not be extracted is None: it does not vote, but counts among the n.
        """
        region, votes = self.region, Counter[str]()
        for taken, answer in enumerate(answers[: self.n], 1):
            if answer is not None:
                votes[answer] += 1
            ranked = votes.most_common(2)
            leader = ranked[0][1] if ranked else 0
            second = ranked[1][1] if len(ranked) > 1 else 0
            if leader - second > self.n - taken or (leader, second) in region or taken == self.n:
                return taken
        return None


def worst_error(region: Region, n: int) -> float:
    """The largest sum, over answers other than the most frequent of n, of their chances to lead in the region.

    For each count m of the most frequent answer: the worst way in which others share the other n - m samples.
    """
    avoiding = _paths_avoiding(region, n)
    worst = 0.0
    for most in range(1, n + 1):
        orders = [math.comb(few + most, few) for few in range(min(most, n - most) + 1)]
        leads = [(ways - avoiding[few][most]) / ways for few, ways in enumerate(orders)]
        best = [0.0] * (n - most + 1)
        for rest in range(1, n - most + 1):
            shares = (leads[few] + best[rest - few] for few in range(1, min(most, rest) + 1))
            best[rest] = max([best[rest - 1], *shares])
        worst = max(worst, best[-1])
    return worst


@lru_cache(maxsize=64)
def _region(n: int, error: float) -> Region:
    """The largest region whose worst error is within the error, by bisection over its levels."""
    if not error:
        return frozenset()
    half = n // 2
    pairs = ((a, b) for a in range(1, half + 1) for b in range(min(a, half + 1)) if a + b <= 2 * half)
    points = {(a, b): _chance(half, a, b) for a, b in pairs}
    levels = sorted(set(points.values()))
    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        fits = worst_error(_below(points, levels[middle]), n) <= error
        low, high = (middle + 1, high) if fits else (low, middle)
    return _below(points, levels[low - 1]) if low else frozenset()


def _below(points: dict[tuple[int, int], float], level: float) -> Region:
    return frozenset(point for point, chance in points.items() if chance <= level)


def _chance(half: int, a: int, b: int) -> float:
    """P(at least a of the first a + b samples are for A), if A and B have half of 2 half samples each."""
    taken = a + b
    ways = sum(math.comb(half, x) * math.comb(half, taken - x) for x in range(a, min(taken, half) + 1))
    return ways / math.comb(2 * half, taken)


def _paths_avoiding(region: Region, n: int) -> Sequence[Sequence[int]]:
    """By (a, b): the number of orders of a and b votes without a lead within the region on the way."""
    paths = [[0] * (n + 1) for _ in range(n + 1)]
    for a in range(n + 1):
        for b in range(n + 1 - a):
            if (a, b) not in region:
                paths[a][b] = 1 if a == b == 0 else (paths[a - 1][b] if a else 0) + (paths[a][b - 1] if b else 0)
    return paths
