"""Healthy or degraded, against a reference accuracy: the sequential gate over one first sample for each problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.probe.grading import Grade
from healthcheck.probe.problems import Problem
from healthcheck.probe.records import ProbeRun, ProbeSettings, Sample
from healthcheck.probe.statistics.gate import Evidence
from healthcheck.probe.statistics.power import GateChoice, choose_gate
from healthcheck.probe.statistics.summary import ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The gate that was chosen, and what it has seen."""

    choice: GateChoice
    evidence: Evidence


def choose(settings: ProbeSettings, problems: Sequence[Problem]) -> GateChoice | None:
    """The tier and gate with the most power; None without a reference, or where no tier has power."""
    budget = {ALL: len(problems)}
    for problem in problems:
        budget[problem.tier] = budget.get(problem.tier, 0) + 1
    references = {tier: value for tier, value in settings.references.items() if tier in budget}
    bad, good, error = settings.gate
    return choose_gate(references, budget, alpha=error, beta=error, below=(bad, good)) if references else None


class Observer:
    """Feeds the gate in dispatch order while samples arrive in any order. It only grows."""

    def __init__(self, choice: GateChoice, problems: Sequence[Problem]) -> None:
        self._choice = choice
        self._problems = problems
        self._scores: dict[int, float | None] = {}
        self._next = 0
        self.evidence = choice.gate.start()

    def take(self, sample: Sample, grade: Grade) -> Evidence:
        """The evidence after one more sample; a failed request counts as wrong."""
        if sample.order < len(self._problems):
            tier = self._problems[sample.problem].tier
            self._scores[sample.order] = grade.score if self._choice.tier in {ALL, tier} else None
        while self._next in self._scores:
            score = self._scores.pop(self._next)
            self._next += 1
            if score is not None:
                self.evidence = self._choice.gate.observe(self.evidence, score)
        return self.evidence


def judge(run: ProbeRun) -> Judgement | None:
    """What the gate says of a run; None where there was no reference, or no tier with power."""
    choice = choose(run.settings, run.problems)
    if choice is None:
        return None
    observer = Observer(choice, run.problems)
    for sample, grade in zip(run.samples, run.grades, strict=True):
        observer.take(sample, grade)
    return Judgement(choice=choice, evidence=observer.evidence)
