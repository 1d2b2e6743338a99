"""No worse than a reference, worse, or open: repeated looks at a growing run that share one error.

The reference is an accuracy that counts as known, or a run on the same problems. Each error is shared: a quarter
for the sequence over the first sample of each problem, which may decide after any sample; a quarter for the ends of
the rounds except the last; one half for the end of the run. A look at the end of a round takes every problem with
the share of its samples, whatever their correlation. With a known accuracy, the limits of `intervals.Mean` decide
both. With a reference run, Student's t decides "no worse", and the test of "nothing changed on these problems"
(`changes`) "worse". So each look keeps its share for independent samples as well as for copies, and the sum of the
shares bounds the error of the whole path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.statistics.changes import FEW_DIFFER, LEAST_PROBLEMS, loss_p
from healthcheck.stages.probe.statistics.counting import Counts
from healthcheck.stages.probe.statistics.distributions import (
    normal_quantile,
    sample_variance,
    t_quantile,
)
from healthcheck.stages.probe.statistics.gate import (
    Decision,
    Evidence,
    Gate,
    accuracy_gate,
    paired_gate,
)
from healthcheck.stages.probe.statistics.intervals import Mean, mean_by_problem

ERROR = 0.01
POWER, POWER_AGAINST_A_NUMBER = 0.93, 0.97
"""How often a run without a loss would be settled with known spread. In practice it is in nine of ten runs; the
limits against a number widen with a spread that is estimated too large.
"""
ASSUMED_ICC = 0.5
"""Of the samples of a problem, without a reference run."""
_TENTH_OF_A_POINT = 1000
_ALMOST_SURE = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question that a run answers.

    Attributes:
        accuracy: of the reference.
        problems, repeats: the number of problems, and of samples per problem.
        margin: the loss that "no worse" excludes, a fraction.
        slack: a loss up to this is not called worse.
        error: bound on P(no worse | a loss of the margin) and on P(worse | no loss above the slack).
        before: (n, c) of each problem in the reference run; empty if only its accuracy is known.
        tiers: the tier of each problem; empty if there are none.

    Raises:
        ValueError: not 0 <= slack < margin < accuracy, or the error is outside (0, 1).
    """

    accuracy: float
    problems: int
    repeats: int
    margin: float
    slack: float = 0.0
    error: float = ERROR
    before: Counts = ()
    tiers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (0 <= self.slack < self.margin < self.accuracy <= 1 and 0 < self.error < 1):
            raise ValueError(f"a question needs 0 <= slack < margin < accuracy, got {self}")

    @property
    def gate(self) -> Gate:
        """The sequence over the first round, at its share of the error."""
        error = self.error / 4
        if self.problems < LEAST_PROBLEMS:
            error = self.error
        elif self.repeats == 1:
            error = self.error / 2
        if self.before:
            return paired_gate(margin=self.margin, slack=self.slack, error=error)
        bad, good = round(self.accuracy - self.margin, 9), round(self.accuracy - self.slack, 9)
        return accuracy_gate(bad=bad, good=min(good, _ALMOST_SURE), error=error)

    def expected(self, problem: int) -> float:
        """The value to subtract from a sample before `gate` observes it: 0 without a reference run."""
        if not self.before:
            return 0.0
        n, c = self.before[problem]
        return c / n


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The evaluation of the complete rounds of a run.

    Attributes:
        change: accuracy minus that of the reference.
        low, high: bounds of the change, each at this look's share of the error.
        spread: standard error of the change.
        decision: HEALTHY for no worse, DEGRADED for worse.
    """

    change: float
    low: float
    high: float
    spread: float
    decision: Decision


def look(question: Question, totals: Sequence[float], rounds: int) -> Look | None:
    """Evaluate the end of a round; None if there are too few problems for t.

    Args:
        question: the question of the run.
        totals: the sum of the scores of each problem over these rounds, in the order of the bank.
        rounds: the number of samples per problem.
    """
    if question.problems < LEAST_PROBLEMS:
        return None
    share = _share(question, rounds)
    if question.before:
        return _against_run(question, totals, rounds, share)
    mean = mean_by_problem([total / rounds for total in totals], question.tiers)
    low, high = (limit - question.accuracy for limit in mean.limits(share))
    return Look(
        change=mean.value - question.accuracy, low=low, high=high, spread=math.sqrt(mean.variance),
        decision=_decision(question, low, worse=high < -question.slack),
    )  # fmt: skip


def _against_run(question: Question, totals: Sequence[float], rounds: int, share: float) -> Look:
    changes = [
        total / rounds - c / n for total, (n, c) in zip(totals, question.before, strict=True)
    ]
    padding = (-1.0, 1.0) if sum(map(bool, changes)) < FEW_DIFFER else ()
    change = math.fsum(changes) / len(changes)
    spread = math.sqrt(sample_variance([*changes, *padding]) / len(changes))
    half = t_quantile(1 - share, len(changes) - 1) * spread
    low, high = max(-1.0, change - half), min(1.0, change + half)
    if question.slack:
        worse = high < -question.slack
    else:
        worse = loss_p(question.before, [(rounds, round(total)) for total in totals]) <= share
    decision = _decision(question, low, worse=worse)
    return Look(change=change, low=low, high=high, spread=spread, decision=decision)


def _decision(question: Question, low: float, *, worse: bool) -> Decision:
    if low > -question.margin:
        return Decision.HEALTHY
    return Decision.DEGRADED if worse else Decision.OPEN


def settles(
    *,
    accuracy: float,
    problems: int,
    repeats: int,
    before: Counts = (),
    error: float = ERROR,
    slack: float = 0.0,
) -> float:
    """The smallest margin, in tenths of a point, that these samples settle in nine of ten runs without a loss.

    Uses the reference run's own spread; without one, a correlation of .5 between the samples of a problem.
    """
    if problems < LEAST_PROBLEMS:
        return _settled_by_sequence(accuracy, problems, error, slack)
    spread = _planned_spread(accuracy, problems, repeats, before)
    if before:
        exact = slack + (t_quantile(1 - error / 2, problems - 1) + normal_quantile(POWER)) * spread
    else:
        unlucky = max(0.0, accuracy - normal_quantile(POWER_AGAINST_A_NUMBER) * spread)
        mean = Mean(value=unlucky, problems=problems, variance=spread**2, freedom=problems - 1)
        exact = slack + accuracy - mean.limits(error / 2)[0]
    return math.ceil(round(exact * _TENTH_OF_A_POINT, 6)) / _TENTH_OF_A_POINT


def problems_for(question: Question) -> int:
    """About how many problems, with as many samples each, would settle the margin."""
    reached = settles(
        accuracy=question.accuracy, problems=question.problems, repeats=question.repeats, before=question.before,
        error=question.error, slack=question.slack,
    )  # fmt: skip
    return math.ceil(
        question.problems * ((reached - question.slack) / (question.margin - question.slack)) ** 2
    )


def more_samples(question: Question, last: Look) -> int:
    """About how many more samples would settle the question in nine of ten runs, for the measured change."""
    quantile = normal_quantile(1 - question.error / 2) + normal_quantile(POWER)
    distance = max(last.change + question.margin, -question.slack - last.change)
    problems = question.problems * (quantile * last.spread / distance) ** 2
    return max(1, math.ceil(problems - question.problems)) * question.repeats


def _settled_by_sequence(accuracy: float, problems: int, error: float, slack: float) -> float:
    """The margin for few problems, which only the sequence over first samples can settle; 1 if it settles none."""
    for points in range(1, 100):
        margin = slack + points / 100
        if margin >= accuracy:
            break
        question = Question(
            accuracy=accuracy, problems=problems, repeats=1, margin=margin, slack=slack, error=error
        )
        if _healthy(question.gate, accuracy, problems) >= POWER:
            return margin
    return 1.0


def _healthy(gate: Gate, accuracy: float, samples: int) -> float:
    """The exact probability that a gate ends healthy within this many independent samples."""
    ended, states = 0.0, {0: (1.0, gate.start())}
    for _ in range(samples):
        following: dict[int, tuple[float, Evidence]] = {}
        for right, (mass, evidence) in states.items():
            for score, chance in ((1, accuracy), (0, 1 - accuracy)):
                before, seen = following.get(right + score) or (0.0, gate.observe(evidence, score))
                following[right + score] = (before + mass * chance, seen)
        ended += math.fsum(
            mass for mass, seen in following.values() if seen.decision is Decision.HEALTHY
        )
        states = {
            right: state for right, state in following.items() if state[1].decision is Decision.OPEN
        }
    return ended


def _share(question: Question, rounds: int) -> float:
    """The error of the look after a number of rounds."""
    if rounds == question.repeats:
        return question.error / 2
    return question.error / 4 / (question.repeats - 1)


def _planned_spread(accuracy: float, problems: int, repeats: int, before: Counts) -> float:
    plain = accuracy * (1 - accuracy)
    if not before:
        variance = plain * (1 + (repeats - 1) * ASSUMED_ICC) / repeats
        padding = 0.5 / (problems + 1)  # as in `Mean`
        return math.sqrt((variance + padding) / problems)
    within = [c * (n - c) / (n * (n - 1)) if n > 1 else plain for n, c in before]
    variance = (
        math.fsum(v * (1 / n + 1 / repeats) for v, (n, _) in zip(within, before, strict=True))
        / problems
    )
    differ = sum(0 < c < n if n > 1 else 2 * plain for n, c in before)
    padding = 2 / (problems + 1) if differ - math.sqrt(differ) < FEW_DIFFER else 0.0
    return math.sqrt((variance + padding) / problems)
