"""A run as the evaluation client would have reported it: its grades and its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.stages.probe.aisbench.client_results import client_results, printed
from healthcheck.stages.probe.aisbench.grader import client_gold, client_grade
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.stages.probe.records import ProbeRun, Sample
from healthcheck.stages.probe.results import figures

_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
"""Its grader of numbers does not handle answers in words, which data sets of questions have."""
_OWN_QUESTIONS = "qa"
NOT_EMULATED = "not emulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misread:
    """An answer on which the client's grader and this kit differ.

    Attributes:
        read: the client's reading of the answer.
        right: the kit's grade; the client's is the opposite.
    """

    text: str
    expected: str
    read: str
    right: bool


def misread(run: ProbeRun) -> Iterator[Misread]:
    """The answers to number problems that the client's own grader grades differently, in dispatch order."""
    for sample, grade in zip(run.samples, run.grades, strict=True):
        problem = run.problems[sample.problem]
        reading = None if sample.error else client_reading(problem, sample)
        if reading and reading[1] != grade.correct:
            yield Misread(
                text=sample.text, expected=problem.answer, read=reading[0], right=grade.correct
            )


def client_figures(run: ProbeRun) -> dict[str, float]:
    """The figures that the client would write: its grader, its grouping; percent.

    Empty if no request was answered, if the run ended early, as the client's does not, or if its grader for such
    problems is not emulated. The client moves the failed requests of a problem to the end.
    """
    if not _comparable(run) or not all(map(emulated, run.problems)):
        return {}
    samples = ([run.samples[place] for place in row] for row in figures.grid(run).rows)
    ordered = (sorted(row, key=lambda sample: bool(sample.error)) for row in samples)
    return client_results([[_client_grade(run, sample) for sample in row] for row in ordered])


def client_column(run: ProbeRun) -> dict[str, str]:
    """The name of each of the client's figures with its text; empty if the client would have other samples."""
    if not _comparable(run):
        return {}
    names = client_results([[0] * figures.grid(run).repeats])
    return printed(client_figures(run)) or dict.fromkeys(names, NOT_EMULATED)


def emulated(problem: Problem) -> bool:
    """Whether the client's grader for a problem is emulated: the GSM8K grader for numbers.

    AISBench grades the user's own questions differently, after its own prompt.
    """
    number = problem.kind is AnswerKind.NUMBER and problem.family != _OWN_QUESTIONS
    return number and bool(_DIGITS.fullmatch(client_gold(gold(problem)).strip()))


def _comparable(run: ProbeRun) -> bool:
    return not run.stopped and any(not run.samples[place].error for place in figures.grid(run).flat)


def _client_grade(run: ProbeRun, sample: Sample) -> int:
    reading = None if sample.error else client_reading(run.problems[sample.problem], sample)
    return int(reading is not None and reading[1])


def client_text(sample: Sample) -> str:
    """The prediction as the client stores it: reasoning, end tag, answer; or only reasoning without the tag."""
    if not sample.reasoning:
        return sample.text
    return f"{sample.reasoning}</think>{sample.text}" if sample.text else sample.reasoning


def gold(problem: Problem) -> str:
    """The answer column in GSM8K's format: a rationale that ends in "#### 18"."""
    if problem.kind is not AnswerKind.NUMBER or "####" in problem.worked:
        return problem.worked or problem.answer
    return f"{problem.worked}\n#### {problem.answer}".lstrip()


def client_reading(problem: Problem, sample: Sample) -> tuple[str, bool] | None:
    """The client's reading of an answer, and whether that is right; None if its grader is not emulated."""
    return client_grade(client_text(sample), gold(problem)) if emulated(problem) else None
