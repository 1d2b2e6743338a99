"""Data sets in the folders and columns that they are published with, as AISBench stores them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.stages.probe.data_sets.dataset import draw

GSM8K = json.dumps({"question": "How many are two and two?", "answer": "2 + 2 = 4\n#### 4"})
TRAINED = json.dumps({"question": "How many are two and three?", "answer": "#### 5"})
MMLU = "What is 2 + 2?,3,4,5,6,B\n"
CHOICES = "甲,乙,丙,丁"
GPQA = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n"


def stored(root: Path, **files: str) -> Path:
    """Files by their paths, in which __ stands for the slash; .jsonl where there is no suffix of CSV."""
    for name, text in files.items():
        ending = (
            ".csv" if name.endswith("_csv") else ".json" if name.endswith("_json") else ".jsonl"
        )
        path = root / (name.removesuffix("_csv").removesuffix("_json").replace("__", "/") + ending)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        pytest.param(
            {"train": TRAINED, "test": GSM8K}, [("How many are two and two?", "4")], id="GSM8K"
        ),
        pytest.param(
            {
                "dev__algebra_dev_csv": "What is 1 + 1?,1,2,3,4,B\n",
                "test__algebra_test_csv": MMLU,
                "test__virology_test_csv": "What is 3 + 2?,3,4,5,6,C\n",
                "test__annotations_json": "{}",
                "val__algebra_val_csv": "What is 3 + 1?,3,4,5,6,B\n",
            },
            [
                ("What is 2 + 2?\nA. 3\nB. 4\nC. 5\nD. 6", "B"),
                ("What is 3 + 2?\nA. 3\nB. 4\nC. 5\nD. 6", "C"),
            ],
            id="MMLU",
        ),
        pytest.param(
            {
                "formal_ceval__test__law_test_csv": f"id,question,A,B,C,D\n0,谁?,{CHOICES}\n",
                "formal_ceval__val__law_val_csv": f"id,question,A,B,C,D,answer\n0,哪个?,{CHOICES},C\n",
            },
            [("哪个?\nA. 甲\nB. 乙\nC. 丙\nD. 丁", "C")],
            id="C-Eval, whose test has no answers",
        ),
        pytest.param(
            {
                "dev__law_csv": "",
                "test__law_csv": f",Question,A,B,C,D,Answer\n0,哪个?,{CHOICES},D\n",
            },
            [("哪个?\nA. 甲\nB. 乙\nC. 丙\nD. 丁", "D")],
            id="CMMLU",
        ),
        pytest.param(
            {"aime": json.dumps({"origin_prompt": "How many?", "gold_answer": "204"})},
            [("How many?", "204")],
            id="AIME",
        ),
        pytest.param(
            {
                "test": json.dumps(
                    {"problem": "How much?", "solution": "…", "answer": "\\frac{1}{2}"}
                )
            },
            [("How much?", "\\frac{1}{2}")],
            id="MATH-500",
        ),
    ],
)
def test_a_folder_is_read_as_it_is_published(
    tmp_path: Path, files: dict[str, str], asked: list[tuple[str, str]]
) -> None:
    drawn = draw(stored(tmp_path, **files), 100, 0).problems
    assert [(problem.question, problem.answer) for problem in drawn] == asked
    assert len({problem.id for problem in drawn}) == len(drawn)


def test_the_right_choice_of_gpqa_has_no_fixed_letter(tmp_path: Path) -> None:
    rows = "".join(f"Which is {n}?,right {n},wrong a,wrong b,wrong c\n" for n in range(200))
    drawn = draw(
        stored(tmp_path, gpqa_diamond_csv=GPQA + rows) / "gpqa_diamond.csv", 200, 0
    ).problems
    assert all(f"{each.answer}. right" in each.question for each in drawn)
    assert (
        min(Counter(each.answer for each in drawn).values()) > 25
    )  # 50 expected, with a spread of 6


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"gpqa_main_csv": GPQA, "gpqa_diamond_csv": GPQA},
            "name one of gpqa_diamond.csv, gpqa_main.csv",
        ),
        (
            {},
            "has no JSON, JSON lines or CSV file, nor a folder “test” or “val” of them with answers",
        ),
        (
            {"test__law_csv": f"id,question,A,B,C,D\n0,谁?,{CHOICES}\n"},
            "law.csv:2: no 'answer' in this row",
        ),
        (
            {"test": json.dumps({"problem": "How much?", "solution": "4"})},
            "test.jsonl:1: no 'answer' in this row",
        ),
        ({"one__a__test": GSM8K}, "has no JSON"),
    ],
)
def test_a_folder_without_problems_is_refused_with_the_reason(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        draw(stored(tmp_path, **files), 100, 0)
    assert said in str(refused.value)


def test_links_that_leave_the_folder_are_not_read(tmp_path: Path) -> None:
    elsewhere = stored(tmp_path / "elsewhere", test=GSM8K)
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "test.jsonl").symlink_to(elsewhere / "test.jsonl")
    (folder / "test").symlink_to(elsewhere)
    with pytest.raises(UsageError, match="has no JSON"):
        draw(folder, 100, 0)
