"""How much samples of one problem say that others of it did not: ICC, effective samples, the iid gap, order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from healthcheck.probe.statistics.distributions import normal_upper_tail, t_quantile
from healthcheck.probe.statistics.intervals import LEVEL, mixed_t
from healthcheck.probe.statistics.metrics import Matrix, pass_at_k
from healthcheck.probe.statistics.records import LIKE_THESE, Estimate

Counts = Sequence[tuple[int, int]]
"""(n, c) of each problem: samples, and correct ones among them."""
_EDGE = 1e-4
"""How near its bounds an ICC may come on Fisher's scale, where they are infinite."""
_LARGEST_Z = 300.0
_EXACT_PAIRS = 2000
"""The exact distribution of pairs takes time with the square of how many there can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """How much the samples of a problem resemble each other.

    Attributes:
        icc: intraclass correlation; None if it is undefined (one sample a problem, or no variation at all).
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
    """The intraclass correlation of 0/1 samples by one-way analysis of variance; None if it is undefined."""
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


def clustering(matrix: Matrix) -> Clustering:
    """The ICC with its interval, and the effective sample size."""
    counts = counts_of(matrix)
    return Clustering(icc=_icc_estimate(counts), effective_samples=effective_samples(counts))


def iid_gap(matrix: Matrix, tiers: Sequence[str], k: int) -> Estimate | None:
    """How far pass@k stays below what independent samples of equally hard problems would give, tier by tier.

    The sum of (N_t / N) [1 - (1 - p_t)^k] - pass@k. The pooled version mostly measures that tiers differ in
    difficulty (Jensen). It does not distinguish a sticky sampler from problems that differ: `order_test` does.

    The interval is a t interval of k (1 - p_t)^(k-1) x_i - pass@k_i, which is how the gap moves with problem i of
    which the share x_i is right, with an all-wrong and an all-right problem more in each tier.
    """
    counts = counts_of(matrix)
    if not counts or min(n for n, _ in counts) < k:
        return None
    groups = [[pair for pair, name in zip(counts, tiers, strict=True) if name == t] for t in dict.fromkeys(tiers)]
    shares = [len(group) / len(counts) for group in groups]
    pairs = [[(c / n, pass_at_k(n, c, k)) for n, c in group] for group in groups]
    wider = [[*group, (0.0, 0.0), (1.0, 1.0)] for group in pairs]
    slopes = [k * (1 - _mean(x for x, _ in group)) ** (k - 1) for group in wider]
    moves = [[slope * x - passed for x, passed in group] for slope, group in zip(slopes, wider, strict=True)]
    centre, (_, half) = _gap(wider, shares, k), mixed_t(moves, shares)
    ends = max(-1.0, centre - half), min(1.0, centre + half)
    return _about(f"iid gap at {k}", _gap(pairs, shares, k), ends, "plus-2 t, linearised", groups)


def effective_k(matrix: Matrix, k: int) -> float | None:
    """The independent samples that k samples are worth: ln(1 - pass@k) / ln(1 - p); None if undefined."""
    counts = counts_of(matrix)
    share = sum(c / n for n, c in counts) / len(counts)
    passed = sum(pass_at_k(n, c, k) for n, c in counts) / len(counts)
    return math.log1p(-passed) / math.log1p(-share) if 0 < share < 1 and passed < 1 else None


def order_test(matrix: Matrix) -> OrderTest:
    """Neighbouring wrong answers against all orders within each problem: do errors stick to each other?

    Exact up to some hundreds of problems with errors, normal with the exact variance above.

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
    single = {
        (n, wrong): [_orders(n, wrong, wrong - pairs) / math.comb(n, wrong) for pairs in range(wrong)]
        for n, wrong in shapes
    }
    if sum(times * (len(single[shape]) - 1) for shape, times in shapes.items()) > _EXACT_PAIRS:
        variance = math.fsum(times * _variance(single[shape]) for shape, times in shapes.items())
        p_value = normal_upper_tail((observed - 0.5 - expected) / math.sqrt(variance))
        return OrderTest(pairs=observed, expected=expected, p_value=p_value)
    for shape, times in shapes.items():
        for _ in range(times):
            total = _convolve(total, single[shape])
    p_value = min(1.0, math.fsum(total[observed:]))
    return OrderTest(pairs=observed, expected=expected, p_value=p_value)


def _orders(n: int, wrong: int, runs: int) -> int:
    return math.comb(wrong - 1, runs - 1) * math.comb(n - wrong + 1, runs) if runs else 0


def _variance(shares: Sequence[float]) -> float:
    """Of a number of 0, 1, … with these probabilities."""
    mean = math.fsum(number * share for number, share in enumerate(shares))
    return math.fsum((number - mean) ** 2 * share for number, share in enumerate(shares))


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


def _icc_estimate(counts: Counts) -> Estimate | None:
    """The ICC with a jackknife interval on Fisher's scale, over the problems and two more, all right and all wrong.

    Measured coverage at 95 %: at least .93 for 20 problems or more, where a percentile bootstrap drops to .80.
    """
    value = icc(counts)
    if value is None:
        return None
    size = _typical_size(counts)
    repeats = round(size)
    if all(c in {0, n} for n, c in counts):  # not certainty: two problems that are half right are assumed
        least = icc([*counts, *[(repeats, repeats // 2)] * 2])
        return _about("ICC", value, (-1.0 if least is None else least, 1.0), "plus-2", [counts])
    wider = [*counts, (repeats, 0), (repeats, repeats)]
    centre = _fisher(icc(wider), size)
    left_out = {pair: _fisher(icc(_without(wider, pair)), size) for pair in set(wider)}
    moved = [left_out[pair] for pair in wider]
    mean = math.fsum(moved) / len(moved)
    spread = math.sqrt((len(moved) - 1) / len(moved) * math.fsum((one - mean) ** 2 for one in moved))
    half = t_quantile((1 + LEVEL) / 2, len(counts) - 1) * spread
    ends = max(-1.0, _unfisher(centre - half, size)), _unfisher(centre + half, size)
    return _about("ICC", value, ends, "plus-2 jackknife, Fisher's z", [counts])


def _without(counts: Counts, pair: tuple[int, int]) -> Counts:
    place = list(counts).index(pair)
    return [*counts[:place], *counts[place + 1 :]]


def _fisher(rho: float | None, size: float) -> float:
    """Fisher's z of an ICC of groups of this size; without variation as if all alike."""
    inside = min(max(1.0 if rho is None else rho, -1 / (size - 1) + _EDGE), 1 - _EDGE)
    return math.log((1 + (size - 1) * inside) / (1 - inside)) / 2


def _unfisher(z: float, size: float) -> float:
    grown = math.exp(2 * min(z, _LARGEST_Z))
    return (grown - 1) / (grown + size - 1)


def _gap(groups: Sequence[Sequence[tuple[float, float]]], shares: Sequence[float], k: int) -> float:
    """Of (share right, pass@k) of each problem."""
    return sum(
        share * (1 - (1 - _mean(x for x, _ in group)) ** k - _mean(passed for _, passed in group))
        for group, share in zip(groups, shares, strict=True)
    )


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return math.fsum(known) / len(known)


def _about(name: str, value: float, ends: tuple[float, float], method: str, groups: Sequence[Counts]) -> Estimate:
    return Estimate(
        name=name,
        value=value,
        low=min(value, ends[0]),
        high=max(value, ends[1]),
        level=LEVEL,
        method=method,
        question=LIKE_THESE,
        problems=sum(map(len, groups)),
        samples=sum(n for g in groups for n, _ in g),
    )
