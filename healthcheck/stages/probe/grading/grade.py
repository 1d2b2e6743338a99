"""The grade of one answer to one problem: read in the form that its prompt asks for, else in one lenient way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from healthcheck.stages.probe.grading import choices, code, expressions, replies, statements, texts
from healthcheck.stages.probe.grading.numbers import (
    Number,
    bounded,
    last_number,
    normalise,
    numbers,
    stated_number,
)
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.stages.probe.problems.forms import FORMS
from healthcheck.text.reasoning import after_reasoning, final_text

FORM, FALLBACK = "form", "fallback"
"""Where an answer was found: in the form, or by the lenient reading."""
_OPTION = re.compile(r"^([A-J])\. (.*)$", re.MULTILINE)
_KEPT_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """The grade of an answer.

    Attributes:
        score: 0 to 1; above one half is correct.
        tier: where the answer was found: FORM, FALLBACK, or "" if nowhere.
        extracted: the answer in a canonical spelling, so that equal answers are equal texts.
        by: the judge; "" is the kit itself.
    """

    score: float = 0.0
    tier: str = ""
    extracted: str = ""
    by: str = ""

    @property
    def correct(self) -> bool:
        return self.score > 0.5

    @property
    def form_missed(self) -> bool:
        """Whether nothing was found in the form that the prompt asks for."""
        return self.tier != FORM

    @property
    def strict(self) -> bool:
        """Whether the answer is correct in the form that the prompt asks for."""
        return self.correct and not self.form_missed

    @property
    def strict_score(self) -> float:
        """The score in the form alone: 0 if the form was missed."""
        return 0.0 if self.form_missed else self.score


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """An answer as one kind of answer; `text` is "" if there is none of this kind."""

    text: str = ""
    correct: bool = False
    by: str = ""


def grade(problem: Problem, text: str, *, finish_reason: str = "") -> Grade:
    """Grade an answer by the kind of its problem.

    An answer that was cut at max_tokens ("length") counts only in its form, and only if that is complete: the last
    number of an unfinished calculation is right only by chance, and its last digits may be missing. Code counts if
    it passes, cut or not.

    Raises:
        UsageError: the problem requires an expression, and math-verify is not installed.
        Blocked: the answer is to be run, and there is no sandbox.
    """
    if problem.kind.runs:
        return _run(problem, after_reasoning(text))
    answer = bounded(final_text(text))
    if problem.kind is AnswerKind.SOFT:
        return _soft(problem, answer)
    cut = finish_reason == "length"
    plain = statements.without_emphasis(statements.whole_part(answer) if cut else answer)
    stated = [*statements.statements(plain, FORMS[problem.kind].pattern)]
    for statement in stated:
        reading = _in_form(problem, statement)
        if reading.text:
            return Grade() if statement.taken_back else _graded(FORM, reading)
    # "not B", "A or B" and \boxed{x > 5} are results, but none of the kind of the problem
    stated_otherwise = any(each.boxed or problem.kind is AnswerKind.CHOICE for each in stated)
    if cut or stated_otherwise or statements.ends_in_a_question(plain):
        return Grade()
    return _graded(FALLBACK, _leniently(problem, plain))


def _graded(tier: str, reading: _Reading) -> Grade:
    if not reading.text:
        return Grade()
    text = reading.text[:_KEPT_CHARS]
    return Grade(score=float(reading.correct), tier=tier, extracted=text, by=reading.by)


def _in_form(problem: Problem, statement: statements.Statement) -> _Reading:
    match _kind(problem):
        case AnswerKind.NUMBER:
            return _number(problem, stated_number(normalise(statement.text)))
        case AnswerKind.CHOICE:
            letter = choices.stated_letter(normalise(statement.text), problem.letters)
            return _letter(problem, letter or _letter_of_option(problem, statement.line))
        case AnswerKind.EXPRESSION:
            return _expression(problem, expressions.stated(statement.line))
        case _:
            return _words(problem, (statement.line, statement.text))


def _leniently(problem: Problem, answer: str) -> _Reading:
    """The last number, letter, formula or line of an answer."""
    match _kind(problem):
        case AnswerKind.NUMBER:
            return _number(problem, last_number(normalise(answer)))
        case AnswerKind.CHOICE:
            return _letter(problem, choices.last_letter(normalise(answer), problem.letters))
        case AnswerKind.EXPRESSION:
            return _expression(problem, expressions.last_formula(answer))
        case _:
            return _words(problem, answer.splitlines()[-1:])


def _kind(problem: Problem) -> AnswerKind:
    """The kind of a problem; a right answer without a number is compared in words."""
    wordy = problem.kind is AnswerKind.NUMBER and _gold(problem.answer) is None
    return AnswerKind.PHRASE if wordy else problem.kind


def _number(problem: Problem, found: Number | None) -> _Reading:
    gold = _gold(problem.answer)
    if found is None or gold is None:
        return _Reading()
    right = found.is_right(gold)
    if right or found.canonical != gold.canonical:
        return _Reading(text=gold.canonical if right else found.canonical, correct=right)
    return _Reading(text=f"{gold.canonical} in another unit")


@lru_cache(maxsize=4096)
def _gold(answer: str) -> Number | None:
    return next(iter(numbers(normalise(answer))), None)


def _letter(problem: Problem, letter: str) -> _Reading:
    return _Reading(text=letter, correct=letter == problem.answer)


def _letter_of_option(problem: Problem, said: str) -> str:
    """The letter of the option with this text; "" if there is none."""
    options = _OPTION.findall(problem.question)
    same = (letter for letter, text in options if texts.same(text) == texts.same(said))
    return next((letter for letter in same if letter in problem.letters), "")


def _expression(problem: Problem, said: str) -> _Reading:
    if not said:
        return _Reading()
    right, by = expressions.equal(said, problem.answer)
    text = expressions.key(problem.answer if right else said)
    return _Reading(text=text, correct=right, by=by)


def _words(problem: Problem, readings: Sequence[str]) -> _Reading:
    """The first reading that is an accepted answer, else the first."""
    accepted = {texts.same(each) for each in (problem.answer, *problem.references)} - {""}
    said = [texts.same(each) for each in readings]
    right = next((each for each in said if each in accepted), "")
    return _Reading(text=right or next(iter(said), ""), correct=bool(right))


def _run(problem: Problem, answer: str) -> Grade:
    if not answer.strip():
        return Grade()
    found = code.found_in(answer, problem)
    passed, said = code.ran(problem.kind, problem.references, found)
    what = "tests" if problem.kind is AnswerKind.CODE else "outputs"
    return Grade(
        score=float(passed),
        tier=FORM if found.fenced else FALLBACK,
        extracted=said,
        by=f"{what} in a sandbox ({code.mode().value})",
    )


def _soft(problem: Problem, answer: str) -> Grade:
    if not answer:
        return Grade()
    score = replies.soft_score(answer, problem.references or (problem.answer,))
    return Grade(score=score, tier=FORM, extracted=replies.vqa_form(answer)[:_KEPT_CHARS])
