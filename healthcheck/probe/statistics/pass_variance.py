"""How sharp pass@k is with n samples of each problem: its standard error against n, without a model.

With w of n0 samples wrong, u_s = C(w, s) / C(n0, s) is unbiased for (1 - p)^s of a problem, s <= n0. The estimator
from n samples is 1 - U, U the share of k-subsets that are all wrong, and two k-subsets of n overlap in j samples
with probability H(j) = C(k, j) C(n-k, k-j) / C(n, k) (Hoeffding 1948). So E[U^2] = sum of H(j) u_(2k-j), and

    this bank again:      Var = sum over problems of (E[U^2] - u_2k) / N^2
    problems like these:  Var = (mean of E[U^2] - mean of u_k(a) u_k(b) over pairs of different problems) / N
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

Counts = Sequence[tuple[int, int]]
"""(n, c) of each problem, n the same for all."""
ENDLESS = 0
"""As a number of samples: without end, so that only the choice of the problems is left to chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharpness:
    """The standard errors of pass@k with `samples` samples of each problem.

    Attributes:
        samples: of each problem; `ENDLESS` is the limit.
        like_these: for other problems of this kind; None for fewer than two problems.
        this_bank: for the same problems again; None if 2k exceeds the samples that there are.
    """

    samples: int
    like_these: float | None
    this_bank: float | None


def sharpness(counts: Counts, k: int, samples: Sequence[int]) -> tuple[Sharpness, ...]:
    """The standard errors for each of these numbers of samples; where 2k > n0 only for those up to n0.

    Raises:
        ValueError: k or a number of samples does not fit.
    """
    if not counts or len({n for n, _ in counts}) != 1 or not 1 <= k <= counts[0][0]:
        raise ValueError("needs the same number of samples for each problem, and 1 <= k <= n")
    if any(n != ENDLESS and n < k for n in samples):
        raise ValueError("pass@k needs at least k samples")
    known = counts[0][0]
    return tuple(_sharpness(counts, k, n) for n in samples if 2 * k <= known or ENDLESS < n <= known)


def _sharpness(counts: Counts, k: int, n: int) -> Sharpness:
    problems, known = len(counts), counts[0][0]
    squares = [_square(known - c, known, k, n) for _, c in counts]
    like_these = None
    if problems > 1:
        wrong = [_all_wrong(known - c, known, k) for _, c in counts]
        pairs = (math.fsum(wrong) ** 2 - math.fsum(u * u for u in wrong)) / (problems * (problems - 1))
        like_these = _root((math.fsum(squares) / problems - pairs) / problems)
    this_bank = None
    if 2 * k <= known:
        within = (
            square - _all_wrong(known - c, known, 2 * k) for square, (_, c) in zip(squares, counts, strict=True)
        )
        this_bank = _root(math.fsum(within) / problems**2)
    return Sharpness(samples=n, like_these=like_these, this_bank=this_bank)


@lru_cache(maxsize=2**14)
def _square(wrong: int, known: int, k: int, n: int) -> float:
    """E[U^2] of a problem for n samples."""
    if n == ENDLESS:
        return _all_wrong(wrong, known, 2 * k)
    subsets = math.comb(n, k)
    return math.fsum(
        math.comb(k, j) * math.comb(n - k, k - j) / subsets * _all_wrong(wrong, known, 2 * k - j)
        for j in range(max(0, 2 * k - n), k + 1)
    )


def _all_wrong(wrong: int, known: int, s: int) -> float:
    """Unbiased for (1 - p)^s."""
    return math.comb(wrong, s) / math.comb(known, s)


def _root(variance: float) -> float:
    """An unbiased estimate of a small variance may lie below zero."""
    return math.sqrt(max(variance, 0.0))
