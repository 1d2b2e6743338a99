"""The corpus of labelled answers (data/answers.toml): every answer is graded as its label says, but for a known few."""

from __future__ import annotations

import pytest

from healthcheck.stages.probe.grading import golds, grade
from healthcheck.stages.probe.problems import AnswerKind
from tests.support.answers import Labelled, fresh, labelled

KINDS = {
    "number": AnswerKind.NUMBER,
    "expression": AnswerKind.EXPRESSION,
    "words": AnswerKind.PHRASE,
    "choice": AnswerKind.CHOICE,
}
KNOWN_ERRORS = {
    "The year was 1969, during Apollo 11.",  # the last number that nothing marks
    "There are 104 bottles: 96 in crates and 8 loose.",  # the parts after the whole
    "Plants take up carbon dioxide.",  # the text of an option in a sentence, without its letter
}
"""Right answers that are called wrong. No wrong answer is called right."""


def graded_right(answer: Labelled) -> bool:
    return grade(
        answer.problem(), answer.text, finish_reason="length" if answer.cut else "stop"
    ).correct


def test_the_corpus_is_large_and_has_two_languages() -> None:
    answers = labelled()
    chinese = [
        answer
        for answer in answers
        if any("\u4e00" <= character <= "\u9fff" for character in answer.text)
    ]
    assert len(answers) >= 400
    assert len(chinese) >= 70
    assert {answer.label for answer in answers} == {"right", "wrong", "none"}


@pytest.mark.process
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_graded_as_they_are_labelled(kind: str) -> None:
    answers = [answer for answer in labelled() if answer.kind == kind]
    refused = {
        answer.text for answer in answers if answer.label == "right" and not graded_right(answer)
    }
    accepted = [answer for answer in answers if answer.label != "right" and graded_right(answer)]
    assert refused == KNOWN_ERRORS & {answer.text for answer in answers}
    assert not accepted


@pytest.mark.process
def test_answers_that_were_new_to_the_grader_are_seldom_refused_and_none_is_accepted() -> None:
    answers = fresh()
    right = [answer for answer in answers if answer.label == "right"]
    assert sum(not graded_right(answer) for answer in right) <= 0.05 * len(right)
    assert not [answer for answer in answers if answer.label == "wrong" and graded_right(answer)]


def test_the_kind_of_a_gold_is_seen(subtests: pytest.Subtests) -> None:
    for kind, gold in sorted({(one.kind, one.gold) for one in labelled() if one.kind != "choice"}):
        with subtests.test(f"{kind}: {gold}"):
            assert golds.kind_of(gold) is KINDS[kind]
