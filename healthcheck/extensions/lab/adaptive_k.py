"""Adaptive k: a problem with a settled majority is sampled no further; the figures that remain.

The samples of a problem are evaluated in the order of its repeats, without gaps, so that neither the speed of an
answer nor the number of requests in flight affects a figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, takewhile
from typing import TypeVar

from healthcheck.extensions.lab.stopping import Stopping
from healthcheck.stages.probe.grading import Grade
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings, Sample
from healthcheck.stages.probe.statistics.estimates import Estimate
from healthcheck.stages.probe.statistics.intervals import by_problem
from healthcheck.stages.probe.statistics.summary import per_problem
from healthcheck.stages.probe.statistics.voting import maj_at_n
from healthcheck.text.messages import Message, msg

T = TypeVar("T")


def stopping(settings: ProbeSettings) -> Stopping:
    """The rule of a run with adaptive k."""
    assert settings.adaptive_k is not None
    return Stopping(n=settings.samples, error=settings.adaptive_k)


class Majorities:
    """Receives samples as they come, and knows which problems need no more."""

    def __init__(self, rule: Stopping, problems: int) -> None:
        """`problems` is their number."""
        self._rule = rule
        self._problems = problems
        self._said: dict[int, dict[int, str | None]] = {}
        self._settled: set[int] = set()

    def take(self, sample: Sample, grade: Grade) -> None:
        """Count one more sample; a failed request does not vote."""
        said = self._said.setdefault(sample.problem, {})
        said[sample.repeat] = grade.extracted or None
        if self._rule.stops_at(_unbroken(said)):
            self._settled.add(sample.problem)

    def settled(self, problem: int) -> bool:
        return problem in self._settled

    @property
    def left(self) -> tuple[int, int]:
        """The fewest and the most samples that the open problems still need."""
        unseen = self._problems - len({*self._said, *self._settled})
        taken = [len(said) for problem, said in self._said.items() if problem not in self._settled]
        least, most = self._rule.least, self._rule.n
        fewest = sum(max(least - count, 1) for count in taken if count < most)
        return fewest + unseen * least, sum(max(most - count, 0) for count in taken) + unseen * most


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """The effect of adaptive k on a run.

    Attributes:
        rule: when sampling stops.
        majority: maj@n, which at the rule's error may differ from that of all samples; None if a problem was
            neither settled nor sampled n times.
        early: problems that stopped before n samples.
        sent: samples on record; late: those of them that were in flight when their problem was settled.
        asked: samples without adaptive k.
    """

    rule: Stopping
    majority: Estimate | None
    early: int
    sent: int
    late: int
    asked: int

    @property
    def saved(self) -> int:
        return self.asked - self.sent

    @property
    def told(self) -> Message:
        """The savings in a sentence."""
        share = f"{100 * self.saved / self.asked:.0f} %"
        how = msg("at an error of {error:g} %", 100 * self.rule.error) if self.rule.error else msg("for certain")
        told = (self.saved, self.asked, share, self.early, how, self.rule.n, self.rule.least)
        return msg(
            "Adaptive k: {saved} of {asked} samples saved ({share}); {early} problems settled early "
            "{how}. All figures but maj@{n} rest on the first {least} samples of each problem: every "
            "problem has those, and figures over all samples would be biased.",
            *told,
        )


def saving(run: ProbeRun) -> Saving:
    """The effect of adaptive k on a run that uses it."""
    rule = stopping(run.settings)
    said: dict[int, dict[int, int]] = {problem: {} for problem in range(len(run.problems))}
    for place, sample in enumerate(run.samples):
        said[sample.problem][sample.repeat] = place
    values, taken = [], []
    for places in said.values():
        row = _unbroken(places)
        answers = [run.grades[place].extracted or None for place in row]
        stop = rule.stops_at(answers)
        if stop:
            right = [int(run.grades[place].correct) for place in row[:stop]]
            values.append(maj_at_n(answers[:stop], right))
            taken.append(stop)
    whole = len(values) == len(run.problems)
    majority = per_problem(f"maj@{rule.n} (adaptive)", values, by_problem(values), sum(taken)) if whole else None
    sent, asked = len(run.samples), len(run.problems) * rule.n
    early = sum(stop < rule.n for stop in taken)
    late = sent - sum(taken) if whole else 0
    return Saving(rule=rule, majority=majority, early=early, sent=sent, late=late, asked=asked)


def _unbroken(by_repeat: dict[int, T]) -> list[T]:
    """The values from repeat 0 up to the first missing one."""
    return [by_repeat[repeat] for repeat in takewhile(by_repeat.__contains__, count())]
