"""The accuracy by kind of problem: by the operations of its calculation, and by the length of its question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.statistics.estimates import Summary
from healthcheck.text.messages import msg

LEAST_PROBLEMS = 5
"""Smaller strata are not shown: their intervals say nothing."""
_LENGTHS = (msg("short"), msg("medium"), msg("long"))


def strata(run: ProbeRun) -> Mapping[str, tuple[Summary, ...]]:
    """The summaries of each division of the problems into at least two strata, by its name."""
    named = {
        msg("operation"): _operations,
        msg("length of the question"): _by_length(run),
    }
    found = {name: tuple(_summaries(run, of)) for name, of in named.items()}
    return {name: summaries for name, summaries in found.items() if len(summaries) > 1}


def _operations(problem: Problem) -> str:
    steps = problem.program.steps if problem.program else ()
    return " ".join(dict.fromkeys(step.sign.value for step in steps))


def _by_length(run: ProbeRun) -> Callable[[Problem], str]:
    """Thirds of the bank by the characters of the question."""
    lengths = sorted(len(problem.question) for problem in run.problems)
    bounds = [lengths[len(lengths) * third // 3] for third in (1, 2)]
    return lambda problem: _LENGTHS[sum(len(problem.question) >= bound for bound in bounds)]


def _summaries(run: ProbeRun, stratum: Callable[[Problem], str]) -> Iterator[Summary]:
    """Each stratum, in the order of its shortest question."""
    chosen = figures.grid(run)
    by_length = sorted(chosen.problems, key=lambda problem: len(run.problems[problem].question))
    names = {problem: stratum(run.problems[problem]) for problem in by_length}
    for name in dict.fromkeys(names.values()):
        part = figures.part(chosen, {problem for problem, its in names.items() if its == name})
        if name and len(part.problems) >= LEAST_PROBLEMS:
            yield figures.summary(run, part, name)
