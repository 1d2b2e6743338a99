"""pass@k with the correlation of samples: each problem discounted by what the ICC says, beside independent samples.

The share p of right samples of a problem is taken for beta-distributed within its tier, with the tier's mean m and
its ICC rho = 1 / (a + b + 1). Given c right of n, k samples are all wrong with probability

    product over j < k of (b + n - c + j) / (a + b + n + j),   a = m (1 - rho) / rho, b = (1 - m) (1 - rho) / rho

(the beta-binomial posterior; Skellam 1948). rho = 0 gives independent samples of equal problems, 1 - (1 - m)^k;
rho = 1 gives pass@k = pass@1. Unlike the unbiased estimator it reaches beyond k = n, where it is a model's word.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.probe.statistics.correlation import Counts, icc
from healthcheck.probe.statistics.distributions import t_quantile
from healthcheck.probe.statistics.intervals import LEVEL
from healthcheck.probe.statistics.records import LIKE_THESE, Estimate

METHOD = "beta-binomial by tier, plus-2 jackknife"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """pass@k of one k by two models.

    Attributes:
        independent: 1 - (1 - p)^k, tier by tier: what independent samples of equal problems would give.
        correlated: with the correlation that was observed.
    """

    k: int
    independent: float
    correlated: Estimate


def reach(counts: Counts, tiers: Sequence[str], k: int) -> Reach | None:
    """pass@k with and without correlation, for any k; None if the ICC of a tier is unknown.

    Args:
        counts: (n, c) of each problem; n is the same for all and at least 2.
        tiers: the tier of each problem.
        k: how many samples; may exceed n.
    """
    names = tuple(dict.fromkeys(tiers))
    groups = [[pair for pair, tier in zip(counts, tiers, strict=True) if tier == name] for name in names]
    if not groups or min(n for n, _ in counts) < 2 or min(map(len, groups)) < 2:
        return None
    shares = [len(group) / len(counts) for group in groups]
    value = _mixed([_passed(Counter(group), k) for group in groups], shares)
    parts = [_jackknife(group, k) for group in groups]
    centre = _mixed([part[0] for part in parts], shares)
    variance = _mixed([part[1] for part in parts], [share * share for share in shares])
    half = t_quantile((1 + LEVEL) / 2, len(counts) - len(groups)) * math.sqrt(variance)
    return Reach(
        k=k,
        independent=_mixed([1 - (1 - _mean(group)) ** k for group in groups], shares),
        correlated=Estimate(
            name=f"correlated pass@{k}",
            value=value,
            low=min(value, max(0.0, centre - half)),
            high=max(value, min(1.0, centre + half)),
            level=LEVEL,
            method=METHOD,
            question=LIKE_THESE,
            problems=len(counts),
            samples=sum(n for n, _ in counts),
        ),
    )


def _passed(group: Counter[tuple[int, int]], k: int) -> float:
    """The mean of a tier's problems; `group` has how many problems there are of each (n, c)."""
    pairs = list(group.elements())
    mean, rho = _mean(pairs), icc(pairs)
    rho = 1.0 if rho is None else min(max(rho, 0.0), 1.0)
    total = 0.0
    for (n, c), problems in group.items():
        wrong = 1.0
        for j in range(k):
            wrong *= ((1 - mean) * (1 - rho) + (n - c + j) * rho) / (1 - rho + (n + j) * rho)
        total += problems * (1 - wrong)
    return total / len(pairs)


def _jackknife(pairs: Counts, k: int) -> tuple[float, float]:
    """The value with an all-wrong and an all-right problem more, and its variance by leaving each problem out."""
    n = pairs[0][0]
    wider = Counter([*pairs, (n, 0), (n, n)])
    size = len(pairs) + 2
    left_out = {pair: _passed(wider - Counter([pair]), k) for pair in wider}
    mean = math.fsum(times * left_out[pair] for pair, times in wider.items()) / size
    spread = math.fsum(times * (left_out[pair] - mean) ** 2 for pair, times in wider.items())
    return _passed(wider, k), (size - 1) / size * spread


def _mean(pairs: Counts) -> float:
    return sum(c for _, c in pairs) / sum(n for n, _ in pairs)


def _mixed(values: Sequence[float], shares: Sequence[float]) -> float:
    return math.fsum(value * share for value, share in zip(values, shares, strict=True))
