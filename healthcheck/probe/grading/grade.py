"""The grade of one answer to one problem."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.probe.grading import extract
from healthcheck.probe.grading.numbers import read
from healthcheck.probe.problems import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What an answer is worth.

    Attributes:
        score: 0 to 1; above one half is correct.
        tier: the tier of the cascade that found the answer, "" where none did.
        strict: correct, and found where the prompt asked for it. Lenient minus strict accuracy is the uncertainty
            of grading.
        extracted: the answer that was found, in one spelling, so that equal answers are equal texts.
    """

    score: float = 0.0
    tier: str = ""
    strict: bool = False
    extracted: str = ""

    @property
    def correct(self) -> bool:
        return self.score > 0.5


def grade(problem: Problem, text: str) -> Grade:
    """Grade an answer; a problem whose answer is a number is graded by value, others by their words."""
    answer = extract.final_text(text)
    expected = read(problem.answer)
    if expected is None:
        raise ValueError(f"{problem.id}: the answer {problem.answer!r} is no number")
    found = extract.number(answer)
    if found is None or found.number is None:
        return Grade()
    correct = found.number.equals(expected)
    strict = correct and found.tier in extract.STRICT_TIERS
    return Grade(score=float(correct), tier=found.tier, strict=strict, extracted=found.text)
