"""A verdict from tens of samples: an anytime-valid test of "broken" against "healthy".

For observations x in [0, 1] and a boundary θ0, every factor 1 + L (x - θ0) with L = (θ - θ0) / (θ0 (1 - θ0)) has
conditional mean at most 1 while E[x | past] <= θ0, so the running product is a nonnegative supermartingale and
Ville's inequality bounds P(it ever reaches 1/α) by α. An average of such products over several alternatives θ keeps
the bound and stops sooner for dead and for perfect servers. For 0/1 data a product is Wald's likelihood ratio.

The bound requires dispatch order and one first sample of each distinct problem. Results in order of completion are
biased, because wrong answers take longer: at concurrency 32 a nominal 5 % becomes 82 %.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass

DEAD = 0.02
"""An alternative for servers that are almost always wrong."""
_BETS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.9)
"""The share of the stake that a product of the paired gate risks on each sample."""


class Decision(enum.Enum):
    """The decision so far. OPEN at the end of the budget is an inconclusive verdict, never a pass."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    OPEN = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of a gate.

    Attributes:
        observations: number of samples, in dispatch order, up to the deciding one.
        total: the sum of their scores.
        healthy_e, degraded_e: log10 of the e-values against "bad" and against "good".
        decision: OPEN until one of them crosses its threshold; then it is final.
        log_products: natural logs of the products, one for each alternative: against "bad", then against "good".
    """

    observations: int = 0
    total: float = 0.0
    healthy_e: float = 0.0
    degraded_e: float = 0.0
    decision: Decision = Decision.OPEN
    log_products: tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The test of accuracy <= bad (degraded) against accuracy >= good (healthy).

    Attributes:
        alpha: bound on P(healthy | accuracy <= bad), at any time.
        beta: bound on P(degraded | accuracy >= good). Between bad and good nothing is guaranteed.

    Raises:
        ValueError: not 0 < bad < good < 1, or an error rate outside (0, 1).
    """

    bad: float
    good: float
    alpha: float = 0.01
    beta: float = 0.01

    def __post_init__(self) -> None:
        if not 0 < self.bad < self.good < 1:
            raise ValueError(f"a gate needs 0 < bad < good < 1, got bad={self.bad}, good={self.good}")
        if not (0 < self.alpha < 1 and 0 < self.beta < 1):
            raise ValueError(f"error rates lie between 0 and 1, got alpha={self.alpha}, beta={self.beta}")

    def start(self) -> Evidence:
        """No evidence yet."""
        above, below = self._alternatives()
        return Evidence(log_products=((0.0,) * len(above), (0.0,) * len(below)))

    def observe(self, evidence: Evidence, score: float) -> Evidence:
        """The evidence with the next dispatched sample; unchanged after a decision.

        Args:
            evidence: the evidence so far.
            score: 0 or 1, or a soft score between.

        Raises:
            ValueError: the score is outside [0, 1].
        """
        if not 0 <= score <= 1:
            raise ValueError(f"a score lies in [0, 1], got {score}")
        if evidence.decision is not Decision.OPEN:
            return evidence
        boundaries = zip(evidence.log_products, (self.bad, self.good), self._alternatives(), strict=True)
        healthy, degraded = (
            tuple(
                product + math.log1p((other - boundary) / (boundary * (1 - boundary)) * (score - boundary))
                for product, other in zip(products, alternatives, strict=True)
            )
            for products, boundary, alternatives in boundaries
        )
        return _grown(evidence, score, healthy, degraded, (self.alpha, self.beta))

    def judge(self, scores: Iterable[float]) -> Evidence:
        """The evidence of scores in dispatch order, up to the deciding one."""
        evidence = self.start()
        for score in scores:
            evidence = self.observe(evidence, score)
            if evidence.decision is not Decision.OPEN:
                break
        return evidence

    def _alternatives(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Accuracies above `bad` and below `good` that the products bet on."""
        below = (self.bad, self.bad / 2, DEAD)
        return (self.good, (1 + self.good) / 2), tuple(theta for theta in below if theta < self.good)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedGate:
    """The same test for differences from a reference run, each in [-1, 1]: mean <= -margin against mean >= -slack.

    A difference is a sample's score minus the reference run's accuracy on that problem. The factors
    are 1 + λ (d + margin) and 1 - λ (d + slack), averaged over a few λ, because the variance is unknown.

    Attributes:
        error: bound on P(healthy | a loss of the margin) and on P(degraded | no loss above the slack).

    Raises:
        ValueError: not 0 <= slack < margin < 1, or an error rate outside (0, 1).
    """

    margin: float
    slack: float = 0.0
    error: float = 0.01

    def __post_init__(self) -> None:
        if not (0 <= self.slack < self.margin < 1 and 0 < self.error < 1):
            raise ValueError(f"a paired gate needs 0 <= slack < margin < 1, got {self}")

    def start(self) -> Evidence:
        """No evidence yet."""
        return Evidence(log_products=((0.0,) * len(_BETS), (0.0,) * len(_BETS)))

    def observe(self, evidence: Evidence, difference: float) -> Evidence:
        """The evidence with the next dispatched sample; unchanged after a decision.

        Raises:
            ValueError: the difference is outside [-1, 1].
        """
        if not -1 <= difference <= 1:
            raise ValueError(f"a difference of two scores lies in [-1, 1], got {difference}")
        if evidence.decision is not Decision.OPEN:
            return evidence
        for_healthy, for_degraded = evidence.log_products
        gain, loss = difference + self.margin, -(difference + self.slack) / (1 + self.slack)
        healthy = tuple(log + math.log1p(bet * gain) for log, bet in zip(for_healthy, _BETS, strict=True))
        degraded = tuple(log + math.log1p(bet * loss) for log, bet in zip(for_degraded, _BETS, strict=True))
        return _grown(evidence, difference, healthy, degraded, (self.error, self.error))


def _grown(
    evidence: Evidence,
    value: float,
    healthy: tuple[float, ...],
    degraded: tuple[float, ...],
    errors: tuple[float, float],
) -> Evidence:
    """The evidence after one more value, with the resulting log products."""
    log_healthy, log_degraded = _log_mean(healthy), _log_mean(degraded)
    decision = Decision.OPEN
    if log_degraded >= -math.log(errors[1]):
        decision = Decision.DEGRADED
    elif log_healthy >= -math.log(errors[0]):
        decision = Decision.HEALTHY
    return Evidence(
        observations=evidence.observations + 1,
        total=evidence.total + value,
        healthy_e=log_healthy / math.log(10),
        degraded_e=log_degraded / math.log(10),
        decision=decision,
        log_products=(healthy, degraded),
    )


def _log_mean(logs: tuple[float, ...]) -> float:
    peak = max(logs)
    return peak + math.log(math.fsum(math.exp(value - peak) for value in logs) / len(logs))
