"""How much samples of one problem resemble each other: ICC and effective samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.probe.statistics.distributions import t_quantile
from healthcheck.probe.statistics.intervals import LEVEL
from healthcheck.probe.statistics.metrics import Matrix
from healthcheck.probe.statistics.records import LIKE_THESE, Estimate

Counts = Sequence[tuple[int, int]]
"""(n, c) of each problem: samples, and correct ones among them."""
_EDGE = 1e-4
"""How near its bounds an ICC may come on Fisher's scale, where they are infinite."""
_LARGEST_Z = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """How much the samples of a problem resemble each other.

    Attributes:
        icc: intraclass correlation; None if it is undefined (one sample a problem, or no variation at all).
        effective_samples: how many independent samples the run is worth for its average.
    """

    icc: Estimate | None
    effective_samples: float | None


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
        return _about(value, (-1.0 if least is None else least, 1.0), "plus-2", counts)
    wider = [*counts, (repeats, 0), (repeats, repeats)]
    centre = _fisher(icc(wider), size)
    left_out = {pair: _fisher(icc(_without(wider, pair)), size) for pair in set(wider)}
    moved = [left_out[pair] for pair in wider]
    mean = math.fsum(moved) / len(moved)
    spread = math.sqrt((len(moved) - 1) / len(moved) * math.fsum((one - mean) ** 2 for one in moved))
    half = t_quantile((1 + LEVEL) / 2, len(counts) - 1) * spread
    ends = max(-1.0, _unfisher(centre - half, size)), _unfisher(centre + half, size)
    return _about(value, ends, "plus-2 jackknife, Fisher's z", counts)


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


def _about(value: float, ends: tuple[float, float], method: str, counts: Counts) -> Estimate:
    return Estimate(
        name="ICC",
        value=value,
        low=min(value, ends[0]),
        high=max(value, ends[1]),
        level=LEVEL,
        method=method,
        question=LIKE_THESE,
        problems=len(counts),
        samples=sum(n for n, _ in counts),
    )
