"""A run as the evaluation client would have reported it: its grades and its figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.aisbench.client_results import client_results, printed
from healthcheck.stages.probe.aisbench.grader import client_gold, client_grade
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.stages.probe.records import ProbeRun, Sample
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.statistics.counting import hard

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


def misread(run: ProbeRun) -> tuple[Misread, ...]:
    """The answers to number problems that the client's own grader grades differently, in dispatch order."""
    found = []
    for sample, grade in zip(run.samples, run.grades, strict=True):
        problem = run.problems[sample.problem]
        reading = None if sample.error else client_reading(problem, sample)
        if reading and reading[1] != grade.correct:
            found.append(Misread(text=sample.text, expected=problem.answer, read=reading[0], right=grade.correct))
    return tuple(found)


def client_figures(run: ProbeRun) -> dict[str, float]:
    """The figures that the client would write: its grader, its grouping; percent.

    Empty if no request was answered, or if its grader for such problems is not emulated.
    """
    return _grouped(run) if all(map(emulated, run.problems)) else {}


def client_column(run: ProbeRun) -> dict[str, str]:
    """The name of each of the client's figures with its text; empty if no request was answered."""
    return printed(client_figures(run)) or dict.fromkeys(_grouped(run), NOT_EMULATED)


def emulated(problem: Problem) -> bool:
    """Whether the client's grader for a problem is emulated: the GSM8K grader for numbers.

    AISBench grades the user's own questions differently, after its own prompt.
    """
    number = problem.kind is AnswerKind.NUMBER and problem.family != _OWN_QUESTIONS
    return number and bool(_DIGITS.fullmatch(client_gold(gold(problem)).strip()))


def _grouped(run: ProbeRun) -> dict[str, float]:
    """The figures in the client's grouping, by its grader or else by the kit's."""
    rows = figures.grid(run).rows
    if all(run.samples[place].error for row in rows for place in row):
        return {}
    scores = [[_client_score(run, place) for place in _answered_first(run, row)] for row in rows]
    return client_results(hard(scores), scores)


def _answered_first(run: ProbeRun, row: Sequence[int]) -> list[int]:
    """The samples of a problem in the client's order, which moves failed requests to the end."""
    return sorted(row, key=lambda place: bool(run.samples[place].error))


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
    if not emulated(problem):
        return None
    opinion = client_grade(client_text(sample), gold(problem))
    return opinion.extracted, opinion.correct


def _client_score(run: ProbeRun, place: int) -> float:
    """The client's score of a sample; the kit's own if its grader is not emulated."""
    sample = run.samples[place]
    reading = None if sample.error else client_reading(run.problems[sample.problem], sample)
    return float(reading[1]) if reading else run.grades[place].score
