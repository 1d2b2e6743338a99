"""The labelled answers: each is graded as its label says, except for those of data/graded_otherwise.jsonl.

That table is the price of the answer contract: answers that are in neither the form nor the one lenient reading, and
answers that deny, guess or correct in words what they name.
"""

from __future__ import annotations

import pytest

from healthcheck.stages.probe.grading import golds, grade
from healthcheck.stages.probe.problems import AnswerKind
from tests.support.answers import Labelled, fresh, labelled, otherwise

KINDS = {
    "number": AnswerKind.NUMBER,
    "expression": AnswerKind.EXPRESSION,
    "words": AnswerKind.PHRASE,
    "choice": AnswerKind.CHOICE,
}
USUAL = "f"
"""The set of usual answers to questions like those of GSM8K, MATH, MMLU and C-Eval."""


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
def test_answers_are_graded_as_labelled_except_for_those_of_the_table(kind: str) -> None:
    answers = [answer for answer in (*labelled(), *fresh()) if answer.kind == kind]
    other = {answer for answer in answers if graded_right(answer) != (answer.label == "right")}
    assert other == {row.answer for row in otherwise() if row.answer.kind == kind}


@pytest.mark.process
def test_of_usual_answers_97_in_100_are_graded_as_labelled_and_no_wrong_one_is_accepted() -> None:
    answers = [answer for answer in fresh() if answer.about == USUAL and answer.kind != "words"]
    graded = [graded_right(answer) == (answer.label == "right") for answer in answers]
    assert len(answers) == 274
    assert sum(graded) >= 0.97 * len(answers)
    assert not [one for one in answers if one.label != "right" and graded_right(one)]


def test_the_price_of_the_answer_contract_is_on_record() -> None:
    refused = [row for row in otherwise() if row.answer.label == "right"]
    accepted = [row for row in otherwise() if row.answer.label != "right"]
    assert all(row.reason for row in otherwise())
    assert not any(row.before for row in accepted)
    assert (len(refused), len(accepted)) == (403, 55)
    assert sum(not row.before for row in refused) == 49


def test_the_kind_of_a_gold_is_seen(subtests: pytest.Subtests) -> None:
    for kind, gold in sorted({(one.kind, one.gold) for one in labelled() if one.kind != "choice"}):
        with subtests.test(f"{kind}: {gold}"):
            assert golds.kind_of(gold) is KINDS[kind]
