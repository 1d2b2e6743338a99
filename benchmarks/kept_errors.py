"""How often `--reference NUMBER` and `--threshold` err, from independent samples of a problem to copies of one.

Each bank is at the edge of what is promised: an accuracy of just the reference, where "worse" is an error; one that
lies below it by just the margin, where "healthy" is; and one of just the threshold, where either verdict is.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

from losses import REPEATS, Runs, Shares, decided_once, judged, sampled
from measure import Bound, Section, main

from healthcheck.stages.probe.statistics.gate import Decision
from healthcheck.stages.probe.statistics.intervals import LEVEL, by_problem
from healthcheck.stages.probe.statistics.no_worse import ERROR, Question

BANKS = ((0.80,), (0.93,), (0.98, 0.70, 0.20))
"""The accuracies of the tiers."""
RUNS = {30: 500, 60: 500, 120: 500, 400: 250}
CORRELATIONS = {"independent": 0.0, "correlation .5": 0.5, "copies": 1.0}
MARGIN, TAIL = 0.05, (1 - LEVEL) / 2
WORSE, HEALTHY, FAILED, PASSED = "worse", "healthy", "below", "above"
MOST = {WORSE: ERROR, HEALTHY: ERROR, FAILED: TAIL, PASSED: TAIL}


def chances(
    draw: random.Random, tiers: Sequence[float], problems: int, correlation: float
) -> Shares:
    """The chances of a right answer, tier by tier."""
    means = [tiers[problem * len(tiers) // problems] for problem in range(problems)]
    if correlation in {0.0, 1.0}:
        return decided_once(draw, means, correlation)
    strength = 1 / correlation - 1
    return [draw.betavariate(mean * strength, (1 - mean) * strength) for mean in means]


def errors(tiers: Sequence[float], problems: int, correlation: float) -> dict[str, float]:
    """The share of the runs with each error."""
    draw, seen = random.Random(f"{tiers} {problems} {correlation}"), Counter[str]()
    names = tuple(str(problem * len(tiers) // problems) for problem in range(problems))
    accuracy = sum(tiers[int(name)] for name in names) / problems
    for _ in range(RUNS[problems]):
        rows = sampled(draw, chances(draw, tiers, problems, correlation))
        runs = Runs(before=(), rows=rows, order=draw.sample(range(problems), problems))
        for error, wrong, reference in (
            (WORSE, Decision.DEGRADED, 0.0),
            (HEALTHY, Decision.HEALTHY, MARGIN),
        ):
            question = Question(
                accuracy=accuracy + reference,
                problems=problems,
                repeats=REPEATS,
                margin=MARGIN,
                tiers=names,
            )
            seen[error] += judged(question, runs) is wrong
        interval = by_problem([sum(row) / REPEATS for row in rows], names)
        seen[FAILED] += interval.high < accuracy
        seen[PASSED] += interval.low >= accuracy
    return {error: seen[error] / RUNS[problems] for error in MOST}


def kept_errors() -> Section:
    rows, bounds = [], dict.fromkeys(MOST, True)
    largest = dict.fromkeys(MOST, 0.0)
    for tiers in BANKS:
        for problems, runs in RUNS.items():
            for name, correlation in CORRELATIONS.items():
                found = errors(tiers, problems, correlation)
                bank = " / ".join(f"{accuracy:.2f}" for accuracy in tiers)
                rows.append(
                    [bank, str(problems), name, *(f"{100 * share:.1f}" for share in found.values())]
                )
                for error, share in found.items():
                    largest[error] = max(largest[error], share)
                    chance = 3 * math.sqrt(MOST[error] * (1 - MOST[error]) / runs)
                    bounds[error] = bounds[error] and share <= MOST[error] + chance
    promise = "{} at the edge in at most {:g} % of the runs (and 3 standard errors) of any row"
    return Section(
        title="Errors against a number",
        about=f"{REPEATS} samples a problem, in % of "
        + ", ".join(f"{runs} runs for {problems} problems" for problems, runs in RUNS.items())
        + f"; the margin is {100 * MARGIN:.0f} points.",
        header=(
            "accuracy by tier", "problems", "samples of a problem", "NUMBER: worse without a loss",
            "NUMBER: healthy with a loss of the margin", "threshold: below", "threshold: above",
        ),
        rows=rows,
        bounds=[
            Bound(
                promise=promise.format(error, 100 * MOST[error]),
                seen=f"{100 * largest[error]:.1f} %", kept=kept,
            )
            for error, kept in bounds.items()
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(kept_errors)
