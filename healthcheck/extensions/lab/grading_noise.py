"""Corrects figures for known error rates of the grader.

A grader that rejects a share `fn` of right answers and accepts a share `fp` of wrong ones, independently, turns the
true share p into p (1 - fn) + (1 - p) fp. No interval shows this: it shifts the figure and narrows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from healthcheck.stages.probe.statistics.distributions import sample_variance, t_quantile
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, Estimate
from healthcheck.stages.probe.statistics.intervals import LEVEL


def corrected_avg(estimate: Estimate, fn: float, fp: float) -> Estimate:
    """An average without the grader's errors: (avg - fp) / (1 - fn - fp), and likewise its interval.

    Raises:
        ValueError: fn + fp >= 1, a grader without information.
    """
    scale = _signal(fn, fp)

    value, low, high = (_share((figure - fp) / scale) for figure in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high, method=estimate.method + _removed(fn, fp))


def unbiased_pass_at_k(n: int, c: int, k: int, fn: float, fp: float) -> float:
    """pass@k of one problem without the grader's errors, unbiased; a single value may lie outside [0, 1].

    1 - s^-k sum_j C(k, j) (-fn)^(k-j) C(n-c, j) / C(n, j), with s = 1 - fn - fp.
    """
    terms = (math.comb(k, j) * (-fn) ** (k - j) * math.comb(n - c, j) / math.comb(n, j) for j in range(k + 1))
    return 1 - math.fsum(terms) / _signal(fn, fp) ** k


def corrected_pass_at_k(counts: Sequence[tuple[int, int]], k: int, fn: float, fp: float) -> Estimate:
    """pass@k over problems without the grader's errors; `counts` has (n, c) of each problem."""
    values = [unbiased_pass_at_k(n, c, k, fn, fp) for n, c in counts]
    padded = (*values, 0.0, 1.0)  # the values may lie outside [0, 1], so that no binomial is like them
    half = t_quantile((1 + LEVEL) / 2, len(padded) - 1) * math.sqrt(sample_variance(padded) / len(padded))
    centre, value = sum(padded) / len(padded), _share(sum(values) / len(values))
    return Estimate(
        name=f"pass@{k}",
        value=value,
        low=min(value, _share(centre - half)),
        high=max(value, _share(centre + half)),
        level=LEVEL,
        method=f"plus-2 clustered t{_removed(fn, fp)}",
        question=LIKE_THESE,
        problems=len(values),
        samples=sum(n for n, _ in counts),
    )


def _share(figure: float) -> float:
    return min(1.0, max(0.0, figure))


def _removed(fn: float, fp: float) -> str:
    return f", grading errors fn={fn:g} fp={fp:g} removed"


def _signal(fn: float, fp: float) -> float:
    if fn + fp >= 1:
        raise ValueError("a grader that errs as often as not says nothing")
    return 1 - fn - fp
