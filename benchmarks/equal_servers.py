"""How often a server of the same accuracy is called worse, from independent samples of a problem to copies of one.

Two servers of the same accuracy differ by chance. With copies, as near temperature 0, they differ in whole
problems. `--reference FOLDER` is held to its whole path: every sample of the first round, and the end of every
round. Its margin is one point, so that next to no run ends as "no worse" before it could be called worse.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from losses import REPEATS, Runs, Shares, counts, decided_once, judged, sampled
from measure import Bound, Section, main

from healthcheck.extensions.compare.comparison import LOSS_ERROR, Shift, compare
from healthcheck.stages.probe.statistics.gate import Decision
from healthcheck.stages.probe.statistics.no_worse import Question

ACCURACY, MARGIN = 0.8, 0.01
RUNS = {60: 1000, 120: 1000, 400: 600}


def spread_out(correlation: float) -> Callable[[random.Random], float]:
    """Draws the chance of a right answer to a problem, for samples of this correlation."""
    strength = 1 / correlation - 1
    return lambda draw: draw.betavariate(ACCURACY * strength, (1 - ACCURACY) * strength)


def close_calls(draw: random.Random) -> float:
    """Nine of ten problems are decided alike by every server."""
    return 0.5 if draw.random() < 0.1 else float(draw.random() < ACCURACY)


DEPENDENCE: dict[str, tuple[Callable[[random.Random], float], float]] = {
    "independent": (lambda _: ACCURACY, 0.0),
    "correlation .5": (spread_out(0.5), 0.0),
    "half copied": (spread_out(0.3), 0.5),
    "copies": (spread_out(0.3), 1.0),
    "copies, a tenth close calls": (close_calls, 1.0),
}
"""Of the samples of a problem: what draws its chances, and the share of the problems whose samples are copies."""


def called_worse(problems: int, dependence: str) -> tuple[float, float]:
    """The shares of the runs that `compare` calls worse, and that `--reference FOLDER` calls degraded."""
    chance, copied = DEPENDENCE[dependence]
    draw, worse, degraded = random.Random(f"{problems} {dependence}"), 0, 0
    for _ in range(RUNS[problems]):
        chances: Shares = [chance(draw) for _ in range(problems)]
        first, second = (sampled(draw, decided_once(draw, chances, copied)) for _ in range(2))
        before = counts(first)
        worse += compare(before, counts(second), margin=MARGIN).shift is Shift.WORSE
        question = Question(
            accuracy=sum(c for _, c in before) / (problems * REPEATS), problems=problems, repeats=REPEATS,
            margin=MARGIN, before=before,
        )  # fmt: skip
        runs = Runs(before=before, rows=second, order=draw.sample(range(problems), problems))
        degraded += judged(question, runs) is Decision.DEGRADED
    return worse / RUNS[problems], degraded / RUNS[problems]


def equal_servers() -> Section:
    rows, largest, kept = [], 0.0, True
    for problems, runs in RUNS.items():
        for dependence in DEPENDENCE:
            shares = called_worse(problems, dependence)
            rows.append([str(problems), dependence, *(f"{100 * share:.1f}" for share in shares)])
            largest = max(largest, *shares)
            chance = 2.5 * math.sqrt(LOSS_ERROR * (1 - LOSS_ERROR) / runs)
            kept = kept and max(shares) <= LOSS_ERROR + chance
    return Section(
        title="Servers of the same accuracy",
        about=f"{ACCURACY:.2f}, {REPEATS} samples a problem, in % of "
        + ", ".join(f"{runs} runs for {problems} problems" for problems, runs in RUNS.items())
        + ".",
        header=("problems", "samples of a problem", "compare: worse", "--reference FOLDER: degraded"),
        rows=rows,
        bounds=[
            Bound(promise="a server of the same accuracy is called worse in at most 1 % of the runs (and 2.5 "
                  "standard errors) of any row", seen=f"{100 * largest:.1f} %", kept=kept),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main(equal_servers)
