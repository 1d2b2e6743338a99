"""The power of `compare` beside the exact permutation of the samples within each problem.

The permutation is the most powerful of the usual tests where the samples of a problem are independent, and not
valid where they depend on each other. `compare` permutes whole problems: it chooses the signs of their differences,
which is valid for copies, too.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from math import comb

import numpy as np
from losses import REPEATS, Shares, after, counts, sampled
from measure import Bound, Section, main

from healthcheck.stages.probe.statistics.changes import loss_p
from healthcheck.stages.probe.statistics.counting import Counts

ERROR, MOST_LOST = 0.01, 0.02
TIERS, CORRELATIONS = (0.95, 0.85, 0.60), (0.0, 0.3)
SIZES, LOSSES, RUNS = (60, 120, 400), (0.0, 0.03, 0.05, 0.10), 1000
KIT, SAMPLES = "compare", "samples"


@cache
def _ways(right: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The chances of 0 … REPEATS right samples in the second run, of `right` ones in both runs together."""
    ways = [
        comb(REPEATS, k) * (comb(REPEATS, right - k) if k <= right else 0)
        for k in range(REPEATS + 1)
    ]
    return np.array(ways) / comb(2 * REPEATS, right)


def permuted_p(first: Counts, second: Counts) -> float:
    """The chance of as few right samples in the second run, if the samples of each problem are permuted."""
    chances = np.ones(1)
    for (_, before), (_, now) in zip(first, second, strict=True):
        chances = np.convolve(chances, _ways(before + now))
    return float(chances[: sum(right for _, right in second) + 1].sum())


def chances_of(draw: random.Random, problems: int, correlation: float) -> Shares:
    means = [TIERS[problem * len(TIERS) // problems] for problem in range(problems)]
    if not correlation:
        return means
    strength = 1 / correlation - 1
    return [draw.betavariate(mean * strength, (1 - mean) * strength) for mean in means]


def found(problems: int, correlation: float, loss: float) -> dict[str, float]:
    """The share of the runs in which each test shows a loss."""
    draw, seen = random.Random(f"{problems} {correlation} {loss}"), Counter[str]()
    for _ in range(RUNS):
        chances = chances_of(draw, problems, correlation)
        left = after(chances, loss, [range(problems)])
        first, second = counts(sampled(draw, chances)), counts(sampled(draw, left))
        seen[KIT] += loss_p(first, second) <= ERROR
        seen[SAMPLES] += permuted_p(first, second) <= ERROR
    return {test: seen[test] / RUNS for test in (KIT, SAMPLES)}


def power() -> Section:
    rows, gaps = [], []
    for problems in SIZES:
        for correlation in CORRELATIONS:
            for loss in LOSSES:
                shares = found(problems, correlation, loss)
                gaps.append(shares[SAMPLES] - shares[KIT])
                cells = (f"{100 * share:.1f}" for share in shares.values())
                rows.append([str(problems), f"{correlation:g}", f"{100 * loss:.0f}", *cells])
    return Section(
        title="Power",
        about=f"Losses on all problems alike that a one-sided test at {100 * ERROR:.0f} % shows, in % of {RUNS} "
        f"runs of {REPEATS} samples; the chances of the problems differ by tier, and within it where correlated. "
        "Given its chance the samples of a problem are independent here.",
        header=("problems", "correlation", "loss in points", "`compare`", "permutation of samples"),
        rows=rows,
        bounds=[
            Bound(
                promise=f"`compare` shows a loss at most {100 * MOST_LOST:.0f} points less often than the exact "
                "permutation of samples, on average over the rows",
                seen=f"{100 * sum(gaps) / len(gaps):.1f} points, at most {100 * max(gaps):.1f}",
                kept=sum(gaps) / len(gaps) <= MOST_LOST,
            )
        ],
    )


if __name__ == "__main__":
    main(power)
