"""The grade of one answer to one problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from healthcheck.probe.grading import extract, replies
from healthcheck.probe.grading.numbers import Number, read
from healthcheck.probe.problems import AnswerKind, Problem
from healthcheck.reasoning import final_text


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


def grade(problem: Problem, text: str, *, finish_reason: str = "") -> Grade:
    """Grade an answer in the way of its problem's kind.

    An answer that was cut at max_tokens ("length") counts only where its final answer was already marked: the last
    number of an unfinished calculation is right by chance.
    """
    answer = final_text(text)
    if not answer:
        return Grade()
    graded = _by_kind(problem, answer)
    if finish_reason == "length" and graded.correct and not graded.strict:
        return Grade(tier=graded.tier, extracted=graded.extracted)
    return graded


def _by_kind(problem: Problem, answer: str) -> Grade:
    match problem.kind:
        case AnswerKind.NUMBER:
            return _number(problem, answer)
        case AnswerKind.CHOICE:
            return _choice(problem, answer)
        case AnswerKind.WORDS:
            return _words(problem, answer)
        case AnswerKind.SOFT:
            return _soft(problem, answer)


def _number(problem: Problem, answer: str) -> Grade:
    """By value; where the expected answer is not a number, by words."""
    expected = _expected(problem.answer)
    if expected is None:
        return _words(problem, answer)
    found = extract.number(answer)
    if found is None or found.number is None:
        return Grade()
    return _judged(found.number.equals(expected), found)


@lru_cache(maxsize=4096)
def _expected(answer: str) -> Number | None:
    return read(answer)


def _choice(problem: Problem, answer: str) -> Grade:
    found = extract.choice(answer, problem.letters)
    return _judged(found.text == problem.answer, found) if found else Grade()


def _judged(correct: bool, found: extract.Found) -> Grade:
    strict = correct and found.tier in extract.STRICT_TIERS
    return Grade(score=float(correct), tier=found.tier, strict=strict, extracted=found.text)


def _words(problem: Problem, answer: str) -> Grade:
    accepted = (problem.answer, *problem.references)
    if any(replies.same_words(answer, expected) for expected in accepted):
        return Grade(score=1.0, tier="exact", strict=True, extracted=replies.tidy(answer))
    if any(replies.ends_in_words(answer, expected) for expected in accepted):
        return Grade(score=1.0, tier="last line", extracted=problem.answer)
    return Grade(tier="exact", extracted=replies.tidy(answer)[:200])


def _soft(problem: Problem, answer: str) -> Grade:
    score = replies.soft_score(answer, problem.references or (problem.answer,))
    return Grade(score=score, tier="soft", strict=score > 0.5, extracted=replies.vqa_form(answer)[:200])
