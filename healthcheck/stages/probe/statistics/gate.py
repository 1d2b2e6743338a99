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
import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass

DEAD = 0.02
"""An alternative for servers that are almost always wrong."""
_BETS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.9)
"""The share of the stake that a product of `paired_gate` risks on each sample."""


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
        healthy_e, degraded_e: log10 of the e-values against "bad" and against "good".
        decision: OPEN until one of them crosses its threshold; then it is final.
        log_products: natural logs of the products, one for each stake: against "bad", then against "good".
    """

    observations: int = 0
    healthy_e: float = 0.0
    degraded_e: float = 0.0
    decision: Decision = Decision.OPEN
    log_products: tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The test of a mean <= bad (degraded) against a mean >= good (healthy); nothing is guaranteed between.

    Attributes:
        least: the least observation; the largest is 1.
        stakes: the L of each product: against "bad", then against "good".
        error: bound on P(healthy | mean <= bad) and on P(degraded | mean >= good), at any time.
    """

    least: float
    bad: float
    good: float
    stakes: tuple[tuple[float, ...], tuple[float, ...]]
    error: float

    def start(self) -> Evidence:
        """No evidence yet."""
        against_bad, against_good = self.stakes
        return Evidence(log_products=((0.0,) * len(against_bad), (0.0,) * len(against_good)))

    def observe(self, evidence: Evidence, value: float) -> Evidence:
        """The evidence with the next dispatched sample; unchanged after a decision.

        Raises:
            ValueError: the value is outside [least, 1].
        """
        if not self.least <= value <= 1:
            raise ValueError(f"an observation lies in [{self.least}, 1], got {value}")
        if evidence.decision is not Decision.OPEN:
            return evidence
        healthy, degraded = (
            tuple(
                log + math.log1p(stake * (value - boundary))
                for log, stake in zip(logs, stakes, strict=True)
            )
            for logs, stakes, boundary in zip(
                evidence.log_products, self.stakes, (self.bad, self.good), strict=True
            )
        )
        log_healthy, log_degraded = _log_mean(healthy), _log_mean(degraded)
        decision = Decision.OPEN
        if log_degraded >= -math.log(self.error):
            decision = Decision.DEGRADED
        elif log_healthy >= -math.log(self.error):
            decision = Decision.HEALTHY
        return Evidence(
            observations=evidence.observations + 1,
            healthy_e=log_healthy / math.log(10),
            degraded_e=log_degraded / math.log(10),
            decision=decision,
            log_products=(healthy, degraded),
        )

    def judge(self, values: Iterable[float]) -> Evidence:
        """The evidence of values in dispatch order, up to the deciding one."""
        return functools.reduce(self.observe, values, self.start())


def accuracy_gate(*, bad: float, good: float, error: float = 0.01) -> Gate:
    """The gate for scores in [0, 1].

    Raises:
        ValueError: not 0 < bad < good < 1, or the error is outside (0, 1).
    """
    if not (0 < bad < good < 1 and 0 < error < 1):
        raise ValueError(
            f"a gate needs 0 < bad < good < 1, got bad={bad}, good={good}, error={error}"
        )
    above, below = (good, (1 + good) / 2), [theta for theta in (bad, bad / 2, DEAD) if theta < good]
    stakes = tuple((theta - bad) / (bad * (1 - bad)) for theta in above)
    return Gate(
        least=0, bad=bad, good=good, error=error,
        stakes=(stakes, tuple((theta - good) / (good * (1 - good)) for theta in below)),
    )  # fmt: skip


def paired_gate(*, margin: float, slack: float = 0.0, error: float = 0.01) -> Gate:
    """The gate for differences from a reference run in [-1, 1]: mean <= -margin against mean >= -slack.

    A difference is a sample's score minus the reference run's accuracy on that problem. There are several stakes,
    because the variance is unknown.

    Raises:
        ValueError: not 0 <= slack < margin < 1, or the error is outside (0, 1).
    """
    if not (0 <= slack < margin < 1 and 0 < error < 1):
        raise ValueError(
            f"a paired gate needs 0 <= slack < margin < 1, got {margin}, {slack}, error={error}"
        )
    against_good = tuple(-bet / (1 + slack) for bet in _BETS)
    return Gate(least=-1, bad=-margin, good=-slack, stakes=(_BETS, against_good), error=error)


def _log_mean(logs: tuple[float, ...]) -> float:
    peak = max(logs)
    return peak + math.log(math.fsum(math.exp(value - peak) for value in logs) / len(logs))
