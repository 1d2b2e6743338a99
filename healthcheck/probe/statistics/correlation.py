"""How much samples of one problem say that others of it did not: ICC, effective samples, the iid gap, order."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from healthcheck.probe.statistics.intervals import LEVEL, percentile
from healthcheck.probe.statistics.metrics import Matrix, pass_at_k
from healthcheck.probe.statistics.records import LIKE_THESE, Estimate

Counts = Sequence[tuple[int, int]]
"""(n, c) of each problem: samples, and correct ones among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """How much the samples of a problem resemble each other.

    Attributes:
        icc: intraclass correlation; None where it cannot be told (one sample a problem, or no variation at all).
        effective_samples: how many independent samples the run is worth for its average.
    """

    icc: Estimate | None
    effective_samples: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTest:
    """Whether wrong answers follow wrong answers.

    Attributes:
        pairs: neighbouring samples that are both wrong, over all problems.
        expected: their mean if the order within a problem did not matter.
        p_value: exact, one-sided; small where wrong answers stick to each other.
    """

    pairs: int
    expected: float
    p_value: float


def counts_of(matrix: Matrix) -> list[tuple[int, int]]:
    """(n, c) of each problem."""
    return [(len(row), sum(row)) for row in matrix]


def icc(counts: Counts) -> float | None:
    """The intraclass correlation of 0/1 samples by one-way analysis of variance; None where it is undefined."""
    problems, samples = len(counts), sum(n for n, _ in counts)
    if problems < 2 or samples == problems:
        return None
    mean = sum(c for _, c in counts) / samples
    between = sum(n * (c / n - mean) ** 2 for n, c in counts) / (problems - 1)
    within = sum(c * (1 - c / n) for n, c in counts) / (samples - problems)
    denominator = between + (_typical_size(counts) - 1) * within
    return (between - within) / denominator if denominator > 0 else None


def effective_samples(counts: Counts) -> float | None:
    """T / (1 + (n0 - 1) max(ICC, 0)): the independent samples that the run is worth; None without an ICC."""
    samples = sum(n for n, _ in counts)
    if samples == len(counts):
        return float(samples)
    rho = icc(counts)
    return None if rho is None else samples / (1 + (_typical_size(counts) - 1) * max(rho, 0.0))


def clustering(matrix: Matrix, *, seed: int = 0) -> Clustering:
    """The ICC with a bootstrap interval over problems, and the effective sample size."""
    counts = counts_of(matrix)
    return Clustering(icc=_resampled("ICC", counts, icc, seed=seed), effective_samples=effective_samples(counts))


def iid_gap(matrix: Matrix, tiers: Sequence[str], k: int, *, seed: int = 0) -> Estimate | None:
    """How far pass@k stays below what independent samples of equally hard problems would give, tier by tier.

    The sum of (N_t / N) [1 - (1 - p_t)^k] - pass@k. The pooled version mostly measures that tiers differ in
    difficulty (Jensen). It cannot tell a sticky sampler from problems that differ: `order_test` can.
    """
    counts = counts_of(matrix)
    if not counts or min(n for n, _ in counts) < k:
        return None
    groups = [[pair for pair, name in zip(counts, tiers, strict=True) if name == t] for t in dict.fromkeys(tiers)]
    return _resampled_tiers(f"iid gap at {k}", groups, k, seed)


def effective_k(matrix: Matrix, k: int) -> float | None:
    """The independent samples that k samples are worth: ln(1 - pass@k) / ln(1 - p); None where undefined."""
    counts = counts_of(matrix)
    share = sum(c / n for n, c in counts) / len(counts)
    passed = sum(pass_at_k(n, c, k) for n, c in counts) / len(counts)
    return math.log1p(-passed) / math.log1p(-share) if 0 < share < 1 and passed < 1 else None


def order_test(matrix: Matrix) -> OrderTest:
    """Neighbouring wrong answers against all orders within each problem, exact: do errors stick to each other?

    Of n samples with w wrong, C(w-1, r-1) C(n-w+1, r) of the C(n, w) orders have r runs of wrong ones, and so w - r
    neighbouring pairs. Rows are samples in order of dispatch.
    """
    observed, expected, total = 0, 0.0, [1.0]
    shapes: Counter[tuple[int, int]] = Counter()
    for row in matrix:
        n, wrong = len(row), len(row) - sum(row)
        observed += sum(1 for a, b in pairwise(row) if not a and not b)
        expected += wrong * (wrong - 1) / n
        if wrong > 1:
            shapes[n, wrong] += 1
    for (n, wrong), times in shapes.items():
        single = [_orders(n, wrong, wrong - pairs) / math.comb(n, wrong) for pairs in range(wrong)]
        for _ in range(times):
            total = _convolve(total, single)
    p_value = min(1.0, math.fsum(total[observed:]))
    return OrderTest(pairs=observed, expected=expected, p_value=p_value)


def _orders(n: int, wrong: int, runs: int) -> int:
    return math.comb(wrong - 1, runs - 1) * math.comb(n - wrong + 1, runs) if runs else 0


def _convolve(a: Sequence[float], b: Sequence[float]) -> list[float]:
    result = [0.0] * (len(a) + len(b) - 1)
    for j, weight in enumerate(b):
        if weight:
            for i, value in enumerate(a):
                result[i + j] += weight * value
    return result


def _typical_size(counts: Counts) -> float:
    samples = sum(n for n, _ in counts)
    return (samples - sum(n * n for n, _ in counts) / samples) / (len(counts) - 1)


def _gap(groups: Sequence[Sequence[tuple[float, float]]], k: int) -> float:
    """Of (share right, pass@k) of each problem."""
    problems = sum(map(len, groups))
    bound = sum(len(group) * (1 - (1 - sum(share for share, _ in group) / len(group)) ** k) for group in groups)
    return (bound - sum(passed for group in groups for _, passed in group)) / problems


def _resampled(
    name: str, counts: Counts, statistic: Callable[[Counts], float | None], *, seed: int, resamples: int = 400
) -> Estimate | None:
    value = statistic(counts)
    if value is None:
        return None
    draw = random.Random(seed)
    drawn = (statistic(draw.choices(counts, k=len(counts))) for _ in range(resamples))
    return _bootstrap_estimate(name, value, [d for d in drawn if d is not None], [counts])


def _resampled_tiers(name: str, groups: Sequence[Counts], k: int, seed: int, resamples: int = 400) -> Estimate:
    draw = random.Random(seed)
    pairs = [[(c / n, pass_at_k(n, c, k)) for n, c in group] for group in groups]
    drawn = [_gap([draw.choices(group, k=len(group)) for group in pairs], k) for _ in range(resamples)]
    return _bootstrap_estimate(name, _gap(pairs, k), drawn, groups)


def _bootstrap_estimate(name: str, value: float, drawn: Sequence[float], groups: Sequence[Counts]) -> Estimate:
    ordered = sorted(drawn) or [value]
    tail = (1 - LEVEL) / 2
    return Estimate(
        name=name,
        value=value,
        low=min(value, percentile(ordered, tail)),
        high=max(value, percentile(ordered, 1 - tail)),
        level=LEVEL,
        method="bootstrap percentile over problems",
        question=LIKE_THESE,
        problems=sum(map(len, groups)),
        samples=sum(n for g in groups for n, _ in g),
    )
