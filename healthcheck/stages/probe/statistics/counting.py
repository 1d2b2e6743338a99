"""Metrics of one problem, from c correct samples among n: exact, over all k-subsets of the n samples.

With n = k these are the service's metrics (AISBench's documentation, "Definitions and relationships of pass@k,
cons@k and avg@n"); with n > k the unbiased estimators (Chen et al. 2021 for pass@k), in integers, without overflow
and without rounding before the last division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

Matrix = Sequence[Sequence[int]]
Counts = Sequence[tuple[int, int]]
"""(n, c) of each problem: samples, and correct samples."""
HARD_THRESHOLD = 0.5

_cached = lru_cache(maxsize=2**16)
"""A run has many problems but few distinct (n, c, k)."""


def counts_of(matrix: Matrix) -> list[tuple[int, int]]:
    """(n, c) of each problem."""
    return [(len(row), sum(row)) for row in matrix]


@_cached
def pass_at_k(n: int, c: int, k: int) -> float:
    """P(at least one of k samples is correct) = 1 - C(n-c, k) / C(n, k)."""
    _check(n, c, k)
    subsets = math.comb(n, k)
    return (subsets - math.comb(n - c, k)) / subsets


@_cached
def cons_at_k(n: int, c: int, k: int) -> float:
    """P(more than half of k samples are correct), hypergeometric.

    For n = k it is the service's I(c > k/2). That indicator is wrong for n > k: with n=20, c=3, k=5 it is 1, while
    the probability is 0.0088.
    """
    _check(n, c, k)
    majorities = sum(
        math.comb(c, j) * math.comb(n - c, k - j) for j in range(k // 2 + 1, min(c, k) + 1)
    )
    return majorities / math.comb(n, k)


def hard(scores: Sequence[Sequence[float]]) -> tuple[tuple[int, ...], ...]:
    """Convert soft scores in [0, 1] to correctness: 1 if the score is strictly above one half."""
    return tuple(tuple(int(score > HARD_THRESHOLD) for score in row) for row in scores)


def _check(n: int, c: int, k: int) -> None:
    if not 1 <= k <= n or not 0 <= c <= n:
        raise ValueError(f"needs 1 <= k <= n and 0 <= c <= n, got n={n}, c={c}, k={k}")
