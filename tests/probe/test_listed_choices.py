"""Data sets with their choices in a list: which letter is right, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from healthcheck.errors import UsageError
from healthcheck.stages.probe.data_sets.dataset import draw
from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.problems import AnswerKind, Problem

GASES = ["oxygen", "nitrogen", "carbon dioxide", "helium"]


def problem(tmp_path: Path, names: dict[str, str] | None = None, **row: Any) -> Problem:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "Which one?", **row}) + "\n", "utf-8")
    return draw(path, 1, 0, names).problems[0]


@pytest.mark.parametrize(
    ("row", "letter"),
    [
        ({"choices": GASES, "answer": 2}, "C"),  # MMLU
        ({"choices": GASES, "answer": 0}, "A"),
        ({"choices": GASES, "answer": "2"}, "C"),
        ({"options": GASES, "answer": "c", "answer_index": 2}, "C"),  # MMLU-Pro
        ({"choices": GASES, "answer": "carbon dioxide"}, "C"),
        (
            {"choices": ["0", "4", "2", "6"], "answer": 1},
            "B",
        ),  # MMLU has this row: a place, not a text
        ({"choices": [0, 4, 2, 6], "answer": 6}, "D"),
        ({"choices": {"text": GASES, "label": ["A", "B", "C", "D"]}, "answer": "C"}, "C"),  # ARC
        ({"choices": {"text": GASES, "label": ["1", "2", "3", "4"]}, "answer": "3"}, "C"),
        ({"choices": {"text": GASES, "label": [1, 2, 3, 4]}, "answer": 3}, "C"),
        ({"choices": [str(n) for n in range(10, 20)], "answer": 9}, "J"),
        ({"A": 0, "B": 1, "answer": "A"}, "A"),
    ],
)
def test_the_right_choice_is_found(tmp_path: Path, row: dict[str, Any], letter: str) -> None:
    read = problem(tmp_path, **row)
    assert (read.kind, read.answer) == (AnswerKind.CHOICE, letter)
    assert read.question.splitlines()[0] == "Which one?"
    assert [line[:3] for line in read.question.splitlines()[1:]] == [
        f"{name}. " for name in read.letters
    ]
    assert grade(read, f"The answer is {letter}.").correct
    assert not grade(read, "The answer is B." if letter != "B" else "The answer is A.").correct


def test_choices_and_their_answer_can_have_other_names(tmp_path: Path) -> None:
    names = {"choices": "cases", "answer": "label", "question": "stem"}
    read = problem(tmp_path, names, stem="Who?", cases=["he", "she"], label=1)
    assert (read.question, read.answer) == ("Who?\nA. he\nB. she", "B")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"choices": GASES, "answer": 4},
            "'4' is none of its 4 choices: it is to be a letter from A to D, a place",
        ),
        ({"choices": GASES, "answer": -1}, "'-1' is none of its 4 choices"),
        ({"choices": GASES, "answer": "E"}, "'E' is none of its 4 choices"),
        ({"choices": GASES, "answer": True}, "'True' is none of its 4 choices"),
        ({"choices": GASES}, "'None' is none of its 4 choices"),
        (
            {"choices": ["1", "2", "3"], "answer": "2"},
            "'2' can mean choice B or C: write the letter",
        ),
        ({"choices": [1, 2, 3], "answer": 1}, "'1' can mean choice A or B: write the letter"),
        ({"choices": ["B", "A"], "answer": "A"}, "'A' can mean choice A or B"),
        ({"choices": ["same", "same"], "answer": "same"}, "'same' can mean choice A or B"),
        (
            {"choices": GASES, "A": "argon", "answer": "A"},
            "choices under 'choices' and under letters",
        ),
        (
            {"choices": "['oxygen', 'helium']", "answer": 1},
            "its 'choices' is not a list of texts (a CSV file has a",
        ),
        ({"choices": ["oxygen", None], "answer": 0}, "its 'choices' is not a list of texts"),
        (
            {"choices": ["oxygen"], "answer": 0},
            "its 'choices' has 1 choices, where 2 to 10 are asked",
        ),
        ({"choices": list("abcdefghijk"), "answer": 0}, "has 11 choices"),
        (
            {"choices": {"text": GASES, "label": ["A", "B"]}, "answer": "A"},
            "has no label of its own for each text",
        ),
        (
            {"choices": {"text": GASES, "label": ["A", "A", "B", "C"]}, "answer": "A"},
            "has no label of its own",
        ),
    ],
)
def test_what_could_be_graded_wrongly_is_refused_with_its_row(
    tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=r"rows\.jsonl:1: ") as refused:
        problem(tmp_path, **row)
    assert said in str(refused.value)


def test_places_that_are_counted_from_one_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"question": f"Which {n}?", "choices": GASES, "answer": 1 + n % 3} for n in range(60)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(
        UsageError, match="none of its 60 answers is 0, the place of the first choice"
    ):
        draw(path, 10, 0)
    rows[7]["answer"] = 0
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(draw(path, 10, 0).problems) == 10
