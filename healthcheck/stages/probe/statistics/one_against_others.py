"""Tests whether one server is worse than the others on the same problems.

The server of a request is chosen before the answer is known, so servers of the same model are right equally often
on each problem. The test holds the numbers of each problem fixed and computes how often chance would leave one
server this few right answers: exact for few samples, else Cochran, Mantel and Haenszel's. If problems have several
samples, the test with the problem as the unit also counts, and the larger p is used: a server may be certain of
different answers than another without being worse.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.statistics.changes import cochran_mantel_haenszel, signs_by_problem
from healthcheck.stages.probe.statistics.distributions import normal_quantile

Stratum = tuple[int, int, int, int]
"""For one problem, or all problems of a tier: samples and right samples of a server, then of the others."""
_EXACT_WIDTH = 1000
"""The exact distribution takes quadratic time in this; above it the normal approximation is exact enough."""
_POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A server against the others.

    Attributes:
        p: one-sided; small if the server is worse. 1 if no stratum has both right and wrong answers.
        detectable: about the loss that is detected at `error` in four of five runs; None if no stratum is shared.
    """

    p: float
    detectable: float | None


def against_others(strata: Sequence[Stratum], *, by_problem: bool, error: float) -> Against:
    """Test one server; `by_problem` means that each stratum is a problem, and `error` is this server's share."""
    shared = [each for each in strata if each[0] and each[2]]
    telling = [each for each in shared if 0 < each[1] + each[3] < each[0] + each[2]]
    p = 1.0
    if telling:
        runs = [(m, d) for _, _, m, d in telling], [(n, c) for n, c, _, _ in telling]
        p = _exact(telling) if _width(telling) <= _EXACT_WIDTH else cochran_mantel_haenszel(*runs).worse_p
        if by_problem:
            p = max(p, signs_by_problem(*runs).worse_p)
    return Against(p=p, detectable=_detectable(shared, error) if shared else None)


def _detectable(strata: Sequence[Stratum], error: float) -> float:
    """The loss d with d W = q sqrt(V + W d): V from the variation without a loss, W d from the lost answers."""
    weight = math.fsum(n * m / (n + m) for n, _, m, _ in strata)
    variance = math.fsum(map(_variance, strata))
    quantile = normal_quantile(1 - error) + normal_quantile(_POWER)
    half = quantile**2 / (2 * weight)
    return min(1.0, half + math.sqrt(half**2 + quantile**2 * variance / weight**2))


def _exact(strata: Sequence[Stratum]) -> float:
    """The probability of at most as many right samples, given the numbers of each stratum."""
    total = [1.0]
    observed = sum(c for _, c, _, _ in strata)
    least = 0
    for (n, others, right), times in Counter((n, m, c + d) for n, c, m, d in strata).items():
        low = max(0, right - others)
        ways = math.comb(n + others, right)
        single = [math.comb(n, c) * math.comb(others, right - c) / ways for c in range(low, min(n, right) + 1)]
        least += times * low
        for _ in range(times):
            total = _convolved(total, single)
    return min(1.0, math.fsum(total[: observed - least + 1]))


def _convolved(a: Sequence[float], b: Sequence[float]) -> list[float]:
    result = [0.0] * (len(a) + len(b) - 1)
    for j, weight in enumerate(b):
        for i, value in enumerate(a):
            result[i + j] += weight * value
    return result


def _width(strata: Sequence[Stratum]) -> int:
    """The number of possible values of the server's right samples."""
    return sum(min(n, c + d) - max(0, c + d - m) for n, c, m, d in strata)


def _variance(stratum: Stratum) -> float:
    n, c, m, d = stratum
    total, right = n + m, c + d
    return n * m * right * (total - right) / (total**2 * (total - 1)) if total > 1 else 0.0
