"""What a gate can do, exactly, and on which tier to use it.

A 0/1 stream moves a gate through (observations, right answers); the probabilities of all those states give
the error rates and the number of samples without simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.probe.statistics.gate import Decision, Evidence, Gate

States = dict[int, tuple[float, Evidence]]
"""By the number of right answers: probability, and the evidence, which is the same on every path there."""
BELOW_REFERENCE = (0.30, 0.05)
"""How far below the reference an accuracy is bad, and up to which it is good."""
LEAST_BAD = 0.05
LEAST_POWER = 0.9


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GateChoice:
    """The tier that a gate is used on, and what it can do there.

    Attributes:
        power: the lesser of P(healthy | the reference) and P(degraded | half of it).
    """

    tier: str
    reference: float
    gate: Gate
    power: float
    at_reference: Operating
    at_half: Operating


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


def gate_for(
    reference: float, alpha: float = 0.01, beta: float = 0.01, below: tuple[float, float] = BELOW_REFERENCE
) -> Gate | None:
    """The gate for a reference accuracy, by default (R - 0.30, R - 0.05); None where it leaves no room between."""
    bad = max(LEAST_BAD, round(reference - below[0], 6))
    good = round(reference - below[1], 6)
    return Gate(bad=bad, good=good, alpha=alpha, beta=beta) if bad < good < 1 else None


def choose_gate(
    references: Mapping[str, float],
    budget: Mapping[str, int],
    *,
    alpha: float = 0.01,
    beta: float = 0.01,
    below: tuple[float, float] = BELOW_REFERENCE,
) -> GateChoice | None:
    """The tier on which the gate tells the reference from half of it best, soonest among equals.

    Args:
        references: measured or claimed accuracy by tier ("all" for the whole bank).
        budget: how many distinct problems each tier has.
        alpha: bound on passing a bad server.
        beta: bound on rejecting a good one.
        below: how far below the reference is bad, and up to which is good.

    Returns:
        None where no tier has a power of at least 0.9: measure, or use an easier tier (R of .65 or more).
    """
    choices = [
        choice
        for tier, reference in references.items()
        if (gate := gate_for(reference, alpha, beta, below)) is not None
        and (choice := _choice(tier, reference, gate, budget[tier])).power >= LEAST_POWER
    ]
    return min(choices, key=lambda c: (-round(c.power, 2), c.at_reference.expected_samples), default=None)


def _choice(tier: str, reference: float, gate: Gate, budget: int) -> GateChoice:
    sound, half = operating(gate, reference, budget), operating(gate, reference / 2, budget)
    power = min(sound.healthy, half.degraded)
    return GateChoice(tier=tier, reference=reference, gate=gate, power=power, at_reference=sound, at_half=half)


def _step(gate: Gate, states: States, accuracy: float) -> States:
    following: States = {}
    for right, (mass, evidence) in states.items():
        for score, chance in ((1, accuracy), (0, 1 - accuracy)):
            known = following.get(right + score)
            before, seen = known or (0.0, gate.observe(evidence, score))
            following[right + score] = (before + mass * chance, seen)
    return following
