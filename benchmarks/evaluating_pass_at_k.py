"""The experiment of "Evaluating pass@k, and what it doesn't tell you", through the real HTTP path.

    .venv/bin/python benchmarks/evaluating_pass_at_k.py [--out DIR]

120 problems in three tiers, 20 samples each, seed 42, 1000 bootstrap resamples; four simulated solvers behind a
real socket, measured by the probe. Writes metrics.json and headline.json, prints the tables beside the published
ones, with z-scores against simulated repetitions of the same experiment. docs/evaluating-pass-at-k.md walks
through it.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck.core.progress import Silent
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.extensions.simulator.solvers import SOLVERS, Query
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.problems import TIERS, Problem
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.run.bank import bank
from healthcheck.stages.probe.statistics.counting import pass_at_k
from healthcheck.stages.probe.statistics.intervals import LEVEL, Interval, by_problem, percentile
from healthcheck.system import json_text
from healthcheck.system.files import write_atomically

PROBLEMS, SAMPLES, SEED, RESAMPLES = 120, 20, 42, 1000
KS = (1, 5, 10)
REPETITIONS = 200
NOISE = 0.02
"""The share of grades that are turned round, as in the article's exercise."""
TOLERANCE = 0.04
"""For the sticky row: its text and its table cannot both be right, and neither reading of the text fits well."""
PUBLISHED = {
    "regex": (0.383, 0.383, 0.383),
    "parser": (0.843, 0.992, 1.000),
    "iid": (0.702, 0.993, 1.000),
    "sticky": (0.568, 0.936, 0.986),
}
PUBLISHED_TIERS = {
    "regex": (1.000, 0.025, 0.125),
    "parser": (1.000, 1.000, 0.529),
    "iid": (0.856, 0.699, 0.550),
    "sticky": (0.772, 0.576, 0.356),
}
PUBLISHED_HALF_WIDTHS = {"easy": (2.3, 0.0), "medium": (3.4, 0.2), "hard": (3.8, 0.6)}
Matrix = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One solver: its pass@k here, with two intervals, and where the published value lies among repetitions.

    `noisy` has pass@k with its bootstrap interval, where the share NOISE of the grades is wrong.
    """

    solver: str
    pass_at: dict[str, float]
    by_bootstrap: dict[str, tuple[float, float]]
    by_problem_interval: dict[str, tuple[float, float]]
    noisy: dict[str, tuple[float, float, float]]
    by_tier: dict[str, float]
    half_widths: dict[str, tuple[float, float]]
    expected: dict[str, tuple[float, float]]
    seconds: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=Path, default=Path(tempfile.mkdtemp(prefix="pass-at-k-")))
    folder: Path = options.parse_args().out
    settings = ProbeSettings(
        url="", problems=PROBLEMS, samples=SAMPLES, seed=SEED, full=True, temperature=1.0
    )
    problems = bank(settings)
    rows = []
    for solver in SOLVERS:
        began = time.monotonic()
        matrix = matrix_of(run(solver, problems, folder / solver))
        rows.append(row_of(solver, matrix, problems, time.monotonic() - began))
    write_atomically(folder / "metrics.json", json_text.dump(rows))
    write_atomically(
        folder / "headline.json", json_text.dump({row.solver: row.pass_at for row in rows})
    )
    show(rows)
    print(f"\nmetrics.json, headline.json and the run folders: {folder}")


def run(solver: str, problems: Sequence[Problem], folder: Path) -> ProbeRun:
    """One probe run against a simulated endpoint on a real socket."""
    behaviour = Behaviour(
        solver=solver,
        seed=SEED,
        answers={problem.question: problem.answer for problem in problems},
        labels={problem.question: problem.tier for problem in problems},
        answer_tokens=6,
    )
    with Simulator(behaviour) as simulator:
        settings = ProbeSettings(
            url=simulator.url,
            problems=PROBLEMS,
            samples=SAMPLES,
            seed=SEED,
            full=True,
            temperature=1.0,
            max_tokens=64,
        )
        return measure(settings, Silent(), folder)


def matrix_of(run: ProbeRun) -> Matrix:
    assert not run.failed, "the simulated endpoint does not fail"
    return [[int(run.grades[place].correct) for place in row] for row in figures.grid(run).rows]


def row_of(solver: str, matrix: Matrix, problems: Sequence[Problem], seconds: float) -> Row:
    tiers = {
        tier: [row for row, p in zip(matrix, problems, strict=True) if p.tier == tier]
        for tier in TIERS
    }
    boot = {f"pass@{k}": bootstrap(values(matrix, k), seed=SEED) for k in KS}
    wrong = graded_with_noise(matrix, random.Random(SEED))
    noisy = {k: bootstrap(values(wrong, k), seed=SEED) for k in KS}
    plus = {f"pass@{k}": by_problem(values(matrix, k)) for k in KS}
    repeated = [simulated(solver, problems, seed) for seed in range(1, REPETITIONS + 1)]
    return Row(
        solver=solver,
        pass_at={f"pass@{k}": mean(matrix, k) for k in KS},
        by_bootstrap={name: (interval.low, interval.high) for name, interval in boot.items()},
        by_problem_interval={
            name: (interval.low, interval.high) for name, interval in plus.items()
        },
        noisy={
            f"pass@{k}": (mean(wrong, k), interval.low, interval.high)
            for k, interval in noisy.items()
        },
        by_tier={tier: mean(rows, 1) for tier, rows in tiers.items()},
        half_widths={
            tier: (half_width(rows, 1), half_width(rows, 5)) for tier, rows in tiers.items()
        },
        expected={
            f"pass@{k}": (
                statistics.fmean(found := [mean(m, k) for m in repeated]),
                statistics.stdev(found),
            )
            for k in KS
        },
        seconds=seconds,
    )


def simulated(solver: str, problems: Sequence[Problem], seed: int) -> Matrix:
    """The same experiment again with another seed, without the network."""
    return [
        [
            int(
                SOLVERS[solver](
                    Query(question=p.question, right=p.answer, tier=p.tier, sample=j, seed=seed)
                )
                == p.answer
            )
            for j in range(SAMPLES)
        ]
        for p in problems
    ]


def graded_with_noise(matrix: Matrix, draw: random.Random) -> Matrix:
    """The matrix as a grader sees it that errs in the share NOISE of all answers."""
    return [[right ^ (draw.random() < NOISE) for right in row] for row in matrix]


def bootstrap(values: Sequence[float], *, seed: int) -> Interval:
    """The percentile bootstrap over problems: too narrow for few of them, and [1, 1] if all agree."""
    draw = random.Random(seed)
    size = len(values)
    means = sorted(math.fsum(draw.choices(values, k=size)) / size for _ in range(RESAMPLES))
    tail = (1 - LEVEL) / 2
    return Interval(
        low=percentile(means, tail),
        high=percentile(means, 1 - tail),
        level=LEVEL,
        method="bootstrap percentile",
    )


def values(matrix: Matrix, k: int) -> list[float]:
    return [pass_at_k(len(row), sum(row), k) for row in matrix]


def mean(matrix: Matrix, k: int) -> float:
    return math.fsum(values(matrix, k)) / len(matrix)


def half_width(matrix: Matrix, k: int) -> float:
    interval = bootstrap(values(matrix, k), seed=SEED)
    return (interval.high - interval.low) / 2


def show(rows: Sequence[Row]) -> None:
    print(
        f"{PROBLEMS} problems × {SAMPLES} samples, seed {SEED}: here / published / z of the published value"
    )
    for row in rows:
        cells = []
        for k, published in zip(KS, PUBLISHED[row.solver], strict=True):
            centre, spread = row.expected[f"pass@{k}"]
            z = f"z={(published - centre) / spread:+.1f}" if spread > 1e-9 else "bank   "
            cells.append(f"@{k} {row.pass_at[f'pass@{k}']:.3f} / {published:.3f} {z}")
        print(f"  {row.solver:<7} {'   '.join(cells)}   {row.seconds:.1f} s")
    print(f"with {NOISE:.0%} of the grades wrong, and the bootstrap's 95 %")
    for row in rows:
        cells = (
            f"{name} {value:.3f} ({low:.3f} to {high:.3f})"
            for name, (value, low, high) in row.noisy.items()
        )
        print(f"  {row.solver:<7} {'   '.join(cells)}")
    print("pass@1 by tier: here / published")
    for row in rows:
        cells = (
            f"{tier} {row.by_tier[tier]:.3f} / {p:.3f}"
            for tier, p in zip(TIERS, PUBLISHED_TIERS[row.solver], strict=True)
        )
        print(f"  {row.solver:<7} {'   '.join(cells)}")
    print(
        "95 % half widths of the iid solver in points, pass@1 and pass@5: bootstrap here / published"
    )
    iid = next(row for row in rows if row.solver == "iid")
    for tier, (one, five) in PUBLISHED_HALF_WIDTHS.items():
        first, fifth = iid.half_widths[tier]
        print(f"  {tier:<7} ±{100 * first:.1f} / ±{one}   ±{100 * fifth:.1f} / ±{five}")
    sticky = next(row for row in rows if row.solver == "sticky")
    far = [abs(a - b) for a, b in zip(sticky.pass_at.values(), PUBLISHED["sticky"], strict=True)]
    print(
        f"sticky is within ±{TOLERANCE} of the published row: {max(far) <= TOLERANCE} (at most {max(far):.3f} away)"
    )


if __name__ == "__main__":
    main()
