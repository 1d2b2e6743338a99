"""The question of a run (no worse than the reference, worse, or open), and its answer as samples arrive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from healthcheck.stages.probe.grading import Grade
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings, Sample
from healthcheck.stages.probe.statistics.gate import Decision
from healthcheck.stages.probe.statistics.no_worse import (
    ERROR,
    Look,
    Question,
    look,
    more_samples,
    problems_for,
    settles,
)
from healthcheck.stages.probe.statistics.summary import ALL
from healthcheck.text.messages import msg

MOST_BY_DEFAULT = 0.10
"""The widest margin that nobody asked for: a small run does not excuse a larger loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The question, and what the requested samples can decide.

    Attributes:
        settles: the smallest margin that they settle in nine of ten runs without a loss.
        needed: about how many samples settle the margin of the question.
    """

    question: Question
    settles: float
    needed: int

    @property
    def told(self) -> str:
        """The plan in words, for the terminal before the first sample."""
        margin, asked = 100 * self.question.margin, self.question.problems * self.question.repeats
        error = msg("errors of {error:g} %", error=100 * self.question.error)
        if self.needed <= asked:
            return msg(
                "a loss of {margin:.1f} points is settled at {error} with about {needed} samples",
                margin=margin,
                error=error,
                needed=self.needed,
            )
        return msg(
            "a loss of {margin:.1f} points needs about {needed} samples at {error}; the {asked} asked "
            "for settle {settles:.1f} points",
            margin=margin,
            needed=self.needed,
            error=error,
            asked=asked,
            settles=100 * self.settles,
        )


def plan(settings: ProbeSettings, problems: Sequence[Problem]) -> Plan | None:
    """The question of a run; None without a reference, or if these problems cannot tell it from half of it."""
    accuracy = settings.references.get(ALL)
    if accuracy is None:
        return None
    before = settings.reference_run.counts if settings.reference_run else ()
    margin, slack, error = settings.gate or (settings.margin, 0.0, ERROR)
    reached = settles(
        accuracy=accuracy,
        problems=len(problems),
        repeats=settings.samples,
        before=before,
        error=error,
        slack=slack,
    )
    if margin is None and reached > accuracy / 2:
        return None
    try:
        question = Question(
            accuracy=accuracy, problems=len(problems), repeats=settings.samples,
            margin=min(reached, MOST_BY_DEFAULT) if margin is None else margin, slack=slack, error=error,
            before=before, tiers=() if settings.dataset else tuple(problem.tier for problem in problems),
        )  # fmt: skip
    except ValueError:
        return None
    needed = problems_for(question) * settings.samples
    return Plan(question=question, settles=reached, needed=needed)


def strict_plan(settings: ProbeSettings, lenient: Plan) -> Plan | None:
    """The same question of the answers in the form that the prompt asks for; None if it cannot be asked.

    An accuracy that was given as a number stays the reference. A reference run is compared form by form.
    """
    reference = settings.reference_run
    if reference is None or not reference.strict_counts:
        return lenient
    before = reference.strict_counts
    accuracy = sum(right for _, right in before) / sum(samples for samples, _ in before)
    try:
        question = replace(lenient.question, accuracy=accuracy, before=before)
    except ValueError:
        return None
    return replace(lenient, question=question)


class Observer:
    """A question and its answer so far. Samples arrive in any order, and count in that of dispatch.

    Attributes:
        samples: how many have counted.
        evidence: of the sequence over the first round.
        last: the last look at complete rounds; None before the first.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.decision = Decision.OPEN
        self.samples = 0
        self.last: Look | None = None
        self._gate = plan.question.gate
        self.evidence = self._gate.start()
        self._waiting: dict[int, tuple[int, float]] = {}
        self._totals = [0.0] * plan.question.problems

    @property
    def right(self) -> float:
        """The sum of the scores of the samples that have counted."""
        return math.fsum(self._totals)

    @property
    def more(self) -> int | None:
        """About how many more samples would settle the question; None if unknown, or if it is settled."""
        last = self.last if self.decision is Decision.OPEN else None
        return more_samples(self.plan.question, last) if last and last.spread > 0 else None

    def take(self, sample: Sample, score: float) -> Decision:
        """The decision after one more sample; a failed request counts as wrong.

        Against a reference run, scores are 0 or 1.
        """
        question = self.plan.question
        self._waiting[sample.order] = (
            sample.problem,
            float(score > 0.5) if question.before else score,
        )
        while self.samples in self._waiting and self.decision is Decision.OPEN:
            self._count(*self._waiting.pop(self.samples))
        return self.decision

    def _count(self, problem: int, score: float) -> None:
        question = self.plan.question
        self.samples += 1
        self._totals[problem] += score
        rounds, rest = divmod(self.samples, question.problems)
        if self.samples <= question.problems:
            self.evidence = self._gate.observe(self.evidence, score - question.expected(problem))
            self.decision = self.evidence.decision
        if not rest and self.decision is Decision.OPEN:
            self.last = look(question, self._totals, rounds)
            self.decision = self.last.decision if self.last else Decision.OPEN


class Verdicts:
    """The verdict by accuracy, and that by accuracy_strict: the gate needs both to agree.

    Attributes:
        lenient: counts every right answer.
        strict: counts those in the form that the prompt asks for; None if that question cannot be asked.
    """

    def __init__(self, settings: ProbeSettings, plan: Plan) -> None:
        self.lenient = Observer(plan)
        asked = strict_plan(settings, plan)
        self.strict = Observer(asked) if asked else None

    def take(self, sample: Sample, grade: Grade) -> bool:
        """Count one more sample; returns whether no further one changes the verdict."""
        self.lenient.take(sample, grade.score)
        if self.strict:
            self.strict.take(sample, grade.strict_score)
        return all(each.decision is not Decision.OPEN for each in self._observers)

    @property
    def differ(self) -> bool:
        """Whether the form decides the verdict."""
        return len({each.decision for each in self._observers}) > 1

    @property
    def decision(self) -> Decision:
        """The common decision; OPEN if the two differ."""
        return Decision.OPEN if self.differ else self.lenient.decision

    @property
    def _observers(self) -> tuple[Observer, ...]:
        return (self.lenient, self.strict) if self.strict else (self.lenient,)


def judge(run: ProbeRun) -> Verdicts | None:
    """The answer of a run to its question; None if it has none."""
    planned = plan(run.settings, run.problems)
    if planned is None:
        return None
    verdicts = Verdicts(run.settings, planned)
    for sample, grade in zip(run.samples, run.grades, strict=True):
        verdicts.take(sample, grade)
    return verdicts
