"""What the intervals and the gate promise, measured over thousands of replicates."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from healthcheck.stages.probe.statistics.counting import cons_at_k, pass_at_k
from healthcheck.stages.probe.statistics.gate import Decision, accuracy_gate
from healthcheck.stages.probe.statistics.intervals import by_problem, wilson

numpy = pytest.importorskip("numpy")
pytestmark = pytest.mark.slow
REPLICATES = 4000
PROBLEMS = (20, 40, 120)
SHAPES = [(p, rho) for p in (0.2, 0.5, 0.8, 0.9) for rho in (0.0, 0.3, 0.5, 0.8)]
"""Mean accuracy and intraclass correlation of the beta-distributed shares of problems."""
METRICS: dict[str, Callable[[int, int], float]] = {
    "avg@5": lambda n, c: c / n,
    "pass@5": lambda n, c: pass_at_k(n, c, n),
    "cons@5": lambda n, c: cons_at_k(n, c, n),
    "pass@2": lambda n, c: pass_at_k(n, c, 2),
}


def shares(generator: object, p: float, rho: float, size: tuple[int, ...]) -> object:
    """Shares of problems: all p at rho 0, beta otherwise."""
    if rho == 0:
        return numpy.full(size, p)
    strength = 1 / rho - 1
    return generator.beta(p * strength, (1 - p) * strength, size)  # type: ignore[attr-defined]


@pytest.mark.parametrize("problems", PROBLEMS)
@pytest.mark.parametrize(("p", "rho"), SHAPES)
@pytest.mark.parametrize("name", METRICS)
def test_by_problem_covers_for_problems_like_these(
    name: str, problems: int, p: float, rho: float
) -> None:
    generator = numpy.random.default_rng(
        abs(hash((problems, int(100 * p), int(100 * rho)))) % 2**32
    )
    table = numpy.array([METRICS[name](5, c) for c in range(6)])
    many = generator.binomial(5, shares(generator, p, rho, (200_000,)))
    truth = float(table[many].mean())
    counts = generator.binomial(5, shares(generator, p, rho, (REPLICATES, problems)))
    covered = 0
    for row in table[counts]:
        interval = by_problem(row.tolist())
        covered += interval.low <= truth <= interval.high
    assert covered / REPLICATES > 0.95 - 0.008  # two standard errors of the measurement


@pytest.mark.parametrize("problems", [8, *PROBLEMS])
@pytest.mark.parametrize(("p", "rho"), SHAPES)
def test_pooled_wilson_covers_for_this_bank_again(problems: int, p: float, rho: float) -> None:
    generator = numpy.random.default_rng(7)
    bank = shares(generator, p, rho, (problems,))
    truth = float(numpy.mean(bank))
    right = generator.binomial(5, bank, (REPLICATES, problems)).sum(1)
    covered = sum(
        interval.low <= truth <= interval.high
        for interval in (wilson(int(c), 5 * problems) for c in right)
    )
    assert covered / REPLICATES >= 0.925 - 0.008


def stream_of(draw: random.Random, p: float, rho: float) -> Callable[[], float]:
    """First samples of distinct problems: however the problems differ, independent with mean p."""
    strength = 1 / rho - 1
    return lambda: float(draw.random() < draw.betavariate(p * strength, (1 - p) * strength))


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    ("bad", "good", "error"), [(0.5, 0.75, 0.05), (0.4, 0.7, 0.05), (0.5, 0.75, 0.01)]
)
def test_gate_errors_stay_nominal_whatever_the_clustering(
    bad: float, good: float, error: float, rho: float
) -> None:
    gate, replicates, budget = accuracy_gate(bad=bad, good=good, error=error), 2000, 200
    draw = random.Random(f"{bad} {good} {error} {rho}")
    slack = 2.5 * (error * (1 - error) / replicates) ** 0.5
    for accuracy, wrong in ((bad, Decision.HEALTHY), (good, Decision.DEGRADED)):
        sample = stream_of(draw, accuracy, rho)
        decisions = [
            gate.judge(sample() for _ in range(budget)).decision for _ in range(replicates)
        ]
        assert decisions.count(wrong) / replicates <= error + slack
