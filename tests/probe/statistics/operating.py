"""What a gate can do, exactly.

A 0/1 stream moves a gate through (observations, right answers); the probabilities of all those states give
the error rates and the number of samples without simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from healthcheck.stages.probe.statistics.gate import Decision, Evidence, Gate

States = dict[int, tuple[float, Evidence]]
"""By the number of right answers: probability, and the evidence, which is the same on every path there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operating:
    """What a gate does with a stream of this accuracy within a budget.

    Attributes:
        healthy, degraded, inconclusive: probabilities of the three outcomes.
        expected_samples: mean number of samples looked at.
        p90_samples: as many or fewer are needed in at least nine runs of ten.
    """

    accuracy: float
    healthy: float
    degraded: float
    inconclusive: float
    expected_samples: float
    p90_samples: int


def operating(gate: Gate, accuracy: float, budget: int) -> Operating:
    """The exact behaviour of a gate on independent 0/1 samples, by dynamic programming over (samples, right)."""
    states: States = {0: (1.0, gate.start())}
    ended = {Decision.HEALTHY: 0.0, Decision.DEGRADED: 0.0}
    expected, still_open, p90 = 0.0, 1.0, budget
    for seen in range(1, budget + 1):
        expected += still_open
        following = _step(gate, states, accuracy)
        states = {}
        for right, (mass, evidence) in following.items():
            if evidence.decision is Decision.OPEN:
                states[right] = (mass, evidence)
            else:
                ended[evidence.decision] += mass
        still_open = math.fsum(mass for mass, _ in states.values())
        if p90 == budget and still_open <= 0.1:
            p90 = seen
        if not states:
            break
    return Operating(
        accuracy=accuracy,
        healthy=ended[Decision.HEALTHY],
        degraded=ended[Decision.DEGRADED],
        inconclusive=still_open,
        expected_samples=expected,
        p90_samples=p90,
    )


def _step(gate: Gate, states: States, accuracy: float) -> States:
    following: States = {}
    for right, (mass, evidence) in states.items():
        for score, chance in ((1, accuracy), (0, 1 - accuracy)):
            known = following.get(right + score)
            before, seen = known or (0.0, gate.observe(evidence, score))
            following[right + score] = (before + mass * chance, seen)
    return following
