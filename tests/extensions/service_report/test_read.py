"""What is found in a report, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.cli import main
from healthcheck.extensions.service_report.reading import true_matrix
from healthcheck.extensions.service_report.remarks import reasoning_cut_off
from healthcheck.stages.probe.aisbench.client_results import client_groups, client_results
from tests.extensions.service_report.made_reports import (
    RIGHT,
    WRONG,
    made,
    reading_of,
    said,
    zipped,
)


def test_hidden_failures_are_counted_named_and_taken_out() -> None:
    reading = reading_of(made([[RIGHT] * 5] * 7 + [[RIGHT, None, None, RIGHT, RIGHT]]))
    assert reading.unanswered == 2
    assert reading.truth is not None
    assert reading.answered is not None
    whole, answered = reading.truth.estimate("avg@5"), reading.answered.estimate("avg@3")
    assert whole is not None
    assert answered is not None
    assert (whole.value, answered.value) == (0.95, 1.0)
    assert "2 are missing, of problems 7" in said(reading)
    assert "2 × Internal Server Error" in said(reading)


def test_problems_without_any_prediction_are_found_from_the_printed_figures() -> None:
    files = made([[RIGHT] * 5] * 6 + [[None] * 5] * 2)
    files = {name: data for name, data in files.items() if not name.endswith("_failed.jsonl")}
    reading = reading_of(files)
    assert (len(reading.grid), reading.problems_implied, reading.unanswered) == (8, 2, 10)
    assert "2 more problems at the end" in said(reading)


def test_figures_that_do_not_follow_from_the_predictions_are_called_out() -> None:
    files = made([[RIGHT] * 5, [WRONG] * 5] * 4)
    stale = made([[RIGHT] * 5, [RIGHT, WRONG, WRONG, WRONG, WRONG]] * 4)
    files["results/vllm-api-stream-chat/gsm8k.json"] = stale[
        "results/vllm-api-stream-chat/gsm8k.json"
    ]
    assert "but its predictions give" in said(reading_of(files))
    assert "differ between the newest summary and results" in said(reading_of(files))


def test_a_summary_alone_is_read() -> None:
    files = {
        "summary/summary_1.csv": b"dataset,version,metric,mode,m\nd,0ba9da,avg@5,gen,80.00\nd,0ba9da,pass@5,gen,90.00\n"
    }
    reading = reading_of(files)
    assert reading.task.printed == {"avg@5": "80.00", "pass@5": "90.00"}
    assert "the stock 4-shot GSM8K chat prompt" in said(reading)


def test_a_summary_of_dashes_is_a_run_in_which_everything_failed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = {n: d for n, d in made([[None] * 5] * 3).items() if n.startswith("summary/")}
    assert "every request failed" in said(reading_of(files))
    assert main(["read", str(zipped(tmp_path / "a.zip", files))]) == 3


def test_cut_off_reasoning_is_seen_with_and_without_tags() -> None:
    cut = "<think>first 3, then {}"
    assert "1 of 10 answers are reasoning that was cut off" in said(
        reading_of(made([[RIGHT] * 5, [RIGHT] * 4 + [cut]]))
    )
    tagged, bare = "so</think>The answer is {}", "so it may be {} or"
    assert "probably 2 of 10" in said(reading_of(made([[tagged] * 5, [tagged] * 3 + [bare] * 2])))


def test_misread_thousands_are_given_back() -> None:
    golds = ["a\n#### 70,000", "b\n#### 5"]
    texts = [["The answer is $70,000."] * 5, ["The answer is 5"] * 5]
    reading = reading_of(made(texts, golds=golds, results=client_results([[0] * 5, [1] * 5])))
    assert reading.truth is not None
    assert reading.regraded is not None
    client, kit = reading.truth.estimate("avg@5"), reading.regraded.estimate("avg@5")
    assert client is not None
    assert kit is not None
    assert (client.value, kit.value) == (0.5, 1.0)
    assert "5 right answers were graded wrong" in said(reading)
    assert "it read 000" in said(reading)


@pytest.mark.parametrize(
    ("texts", "seen"),
    [
        ([["", "", RIGHT, RIGHT, RIGHT]] * 2, "4 of 10 predictions are empty"),
        ([["!" * 200, *[RIGHT] * 4]] * 2, "one character again and again"),
        ([[RIGHT] * 5] * 4, "the same text in all samples on 4 of 4 problems"),
    ],
)
def test_signs_in_the_texts(texts: list[list[str]], seen: str) -> None:
    assert seen in said(reading_of(made(texts)))


def test_nothing_is_said_about_a_sound_report() -> None:
    texts = [[f"First {i} and {j}. The answer is {{}}" for j in range(5)] for i in range(8)]
    assert said(reading_of(made(texts, results=client_results([[1] * 5] * 8)))) == ""


def test_dumped_groups_give_the_truth_of_data_that_cannot_be_regraded() -> None:
    matrix = [[1] * 5, [0] * 5] * 4
    details = [
        {"example_abbr": f"d_{i}", "correct": [bool(x) for x in row]}
        for i, row in enumerate(client_groups(matrix))
    ]
    results = json.dumps({**client_results(matrix), "details": details}).encode()
    files = made([["a yellow bus"] * 5] * 8, golds=["bus"] * 8, results=client_results(matrix))
    files["results/vllm-api-stream-chat/gsm8k.json"] = results
    reading = reading_of(files)
    assert reading.emulated is None
    assert reading.truth is not None
    passed = reading.truth.estimate("pass@5")
    assert passed is not None
    assert passed.value == 0.5


matrices = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=1, max_size=12)
)


@given(matrices)
def test_the_true_matrix_can_be_recovered_from_its_groups(matrix: list[list[int]]) -> None:
    assert true_matrix(client_groups(matrix)) == tuple(map(tuple, matrix))


def test_reasoning_that_was_cut_off_is_seen() -> None:
    assert reasoning_cut_off("<think>so 18")
    assert not reasoning_cut_off("<think>so</think> 18")
    assert not reasoning_cut_off("18")
