"""The grade of one answer to one problem."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from healthcheck.stages.probe.grading import choices, code, expressions, extract, phrases, replies
from healthcheck.stages.probe.grading.numbers import Number, bounded, normalise
from healthcheck.stages.probe.grading.quantities import quantities
from healthcheck.stages.probe.grading.statements import STRICT_TIERS, whole_part
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.text.reasoning import after_reasoning, final_text

_OPTION = re.compile(r"^([A-J])\. (.*)$", re.MULTILINE)

_RADIANS = re.compile(
    r"(?<![\d./^])(?:\\[dt]?frac\s?\{)?(?:(\d{1,4})\s?)?(?:\\pi|π)(?:(?:\}\s?\{|\s?/\s?)(\d{1,4}))?\}?"
    r"\s*\$?\s*(?:\\(?:text|mathrm)\s?\{)?\s*(?:radians?|rad|弧度)(?![a-z])"
)
"""A multiple of pi as an angle: for a gold in degrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The grade of an answer.

    Attributes:
        score: 0 to 1; above one half is correct.
        tier: the tier of the cascade that found the answer, "" if none did.
        strict: whether the answer is correct and was found where the prompt requested it. Lenient minus strict
            accuracy is the uncertainty of grading.
        extracted: the answer in a canonical spelling, so that equal answers are equal texts.
        by: the judge; "" is the kit itself.
    """

    score: float = 0.0
    tier: str = ""
    strict: bool = False
    extracted: str = ""
    by: str = ""

    @property
    def correct(self) -> bool:
        return self.score > 0.5


def grade(problem: Problem, text: str, *, finish_reason: str = "") -> Grade:
    """Grade an answer by the kind of its problem.

    An answer that was cut at max_tokens ("length") counts only if its result was marked and is certainly complete:
    the last number of an unfinished calculation is right only by chance, and its last digits may be missing.

    Code counts if it passes, cut or not.

    Raises:
        UsageError: the problem requires an expression, and math-verify is not installed.
        Blocked: the answer is to be run, and there is no sandbox.
    """
    if problem.kind.runs:
        return _by_kind(problem, after_reasoning(text))
    answer = bounded(final_text(text))
    cut = finish_reason == "length"
    if not (whole_part(answer) if cut else answer):
        return Grade()
    graded = _by_kind(problem, whole_part(answer) if cut else answer)
    if cut and graded.correct and not graded.strict:
        return Grade(tier=graded.tier, extracted=graded.extracted, by=graded.by)
    return graded


def _by_kind(problem: Problem, answer: str) -> Grade:
    match problem.kind:
        case AnswerKind.NUMBER:
            return _number(problem, answer)
        case AnswerKind.CHOICE:
            return _choice(problem, answer)
        case AnswerKind.EXPRESSION:
            return _expression(problem, answer)
        case AnswerKind.PHRASE:
            return _phrase(problem, answer)
        case AnswerKind.SOFT:
            return _soft(problem, answer)
        case AnswerKind.CODE | AnswerKind.PROGRAM:
            return _run(problem, answer)


def _number(problem: Problem, answer: str) -> Grade:
    """Grade by value; by words if the expected answer is not a number."""
    expected = _expected(problem.answer)
    if expected is None:
        return _phrase(problem, answer)
    if any(kind == "angle1" for kind, _ in expected.amounts):
        answer = _RADIANS.sub(_degrees, answer)
    found = extract.number(answer)
    if found is None or found.number is None:
        return Grade()
    correct = found.number.equals(expected)
    if (
        correct or found.text == expected.canonical
    ):  # one spelling for all right answers, another for other units
        text = expected.canonical + ("" if correct else " in another unit")
        found = replace(found, text=text)
    return _judged(correct, found)


def _degrees(radians: re.Match[str]) -> str:
    below = int(radians[2] or 1)
    return f"{Fraction(180 * int(radians[1] or 1), below)} degrees" if below else radians.group()


@lru_cache(maxsize=4096)
def _expected(answer: str) -> Number | None:
    return next(iter(quantities(normalise(answer))), None)


def _choice(problem: Problem, answer: str) -> Grade:
    options = {
        letter: text
        for letter, text in _OPTION.findall(problem.question)
        if letter in problem.letters
    }
    found = choices.choice(answer, problem.letters, options)
    return _judged(found.text == problem.answer, found) if found else Grade()


def _expression(problem: Problem, answer: str) -> Grade:
    found, right, by = expressions.judged(answer, problem.answer)
    return replace(_judged(right, found), extracted=found.text[:200], by=by) if found else Grade()


def _phrase(problem: Problem, answer: str) -> Grade:
    accepted = (problem.answer, *problem.references)
    found = [one for expected in accepted if (one := phrases.said(answer, expected))]
    right = next(
        (
            one
            for one, expected in zip(found, accepted, strict=False)
            if one.text == phrases.same(expected)
        ),
        None,
    )
    if right:
        return Grade(
            score=1.0,
            tier=right.tier,
            strict=right.tier not in {"last line", "bold"},
            extracted=right.text,
        )
    return Grade(tier=found[0].tier, extracted=found[0].text[:200]) if found else Grade()


def _judged(correct: bool, found: extract.Found) -> Grade:
    strict = correct and found.tier in STRICT_TIERS
    return Grade(score=float(correct), tier=found.tier, strict=strict, extracted=found.text)


def _run(problem: Problem, answer: str) -> Grade:
    if not answer.strip():
        return Grade()
    found = code.found_in(answer, problem)
    passed, said = code.ran(problem.kind, problem.references, found)
    tier = "code block" if found.fenced else "text"
    by = f"{'tests' if problem.kind is AnswerKind.CODE else 'outputs'} in a sandbox ({code.mode().value})"
    return Grade(
        score=float(passed), tier=tier, strict=passed and found.fenced, extracted=said, by=by
    )


def _soft(problem: Problem, answer: str) -> Grade:
    score = replies.soft_score(answer, problem.references or (problem.answer,))
    return Grade(
        score=score, tier="soft", strict=score > 0.5, extracted=replies.vqa_form(answer)[:200]
    )
