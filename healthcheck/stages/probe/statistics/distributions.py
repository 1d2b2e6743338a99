"""The distribution functions for the intervals, to about 1e-9, without a library.

Regularised incomplete beta by Lentz's continued fraction (DLMF 8.17.22), its quantiles by Newton, and from these
Student's t, for as many degrees of freedom as a run can have problems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist, fmean

_TINY = 1e-300
_STEPS = 200

normal_quantile = NormalDist().inv_cdf
"""The standard normal quantile; probability in (0, 1)."""


def sample_variance(values: Sequence[float]) -> float:
    """The sample variance; `statistics.variance` is exact but takes four times as long."""
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def normal_upper_tail(z: float) -> float:
    """P(Z >= z)."""
    return math.erfc(z / math.sqrt(2)) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1.0 - front * _continued_fraction(1.0 - x, b, a) / b


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = probability, by Newton's steps within a bracket."""
    low, high, x = 0.0, 1.0, min(max(a / (a + b), _TINY), 1 - 2**-53)
    log_scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(_STEPS):
        gap = beta_cdf(x, a, b) - probability
        low, high = (x, high) if gap < 0 else (low, x)
        slope = math.exp(log_scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
        following = x - gap / slope if slope else low
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= 1e-15 * max(following, 1e-3) or following in {low, high}:
            return following
        x = following
    return x


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """Student's t quantile; probability in (0, 1), df > 0, not necessarily an integer."""
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -t_quantile(1.0 - probability, df)
    share = beta_quantile(2 * (probability - 0.5), 0.5, df / 2)  # of t² / (df + t²)
    return math.sqrt(df * share / (1 - share))


def _continued_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + numerator * d)
            c = _away_from_zero(1.0 + numerator / c)
            result *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return result


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
