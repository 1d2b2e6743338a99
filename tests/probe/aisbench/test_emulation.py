"""What AISBench computes: to the last bit against numpy, to the last digit against reports that it wrote."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.aisbench.client_results import (
    client_groups,
    client_results,
    mean,
    pairwise_sum,
    printed,
)
from healthcheck.stages.probe.aisbench.grader import client_answer, client_gold, client_grade
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import Sample
from healthcheck.stages.probe.results.export import client_reading
from healthcheck.stages.probe.statistics.summary import summarize

matrices = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=1, max_size=12)
)


def test_sums_are_numpys_to_the_last_bit() -> None:
    numpy = pytest.importorskip("numpy")
    draw = random.Random(1)
    for size in [*range(1, 40), 127, 128, 129, 136, 255, 256, 257, 600, 1000, 1031, 4099]:
        for _ in range(20):
            values = [draw.choice((draw.random(), 0.2, 0.6, 1e16, 1 / 3)) for _ in range(size)]
            assert pairwise_sum(values) == float(numpy.sum(values))
            assert mean(values) == float(numpy.mean(values))


@given(matrices)
def test_results_are_those_of_its_own_arithmetic(matrix: list[list[int]]) -> None:
    numpy = pytest.importorskip("numpy")
    replicas = numpy.array(matrix).T
    problems, n = len(matrix), len(matrix[0])
    results = client_results(matrix)
    if n == 1:
        assert results == {"accuracy": float(numpy.mean([100 * int(sum(replicas[0])) / problems]))}
        return
    groups = replicas.reshape(-1).reshape(problems, n)
    counts = [int(c) for c in groups.sum(1)]
    assert client_groups(matrix) == tuple(map(tuple, groups.tolist()))
    assert list(results.items()) == [
        (
            f"accuracy ({n} runs average)",
            float(numpy.mean([100 * int(sum(row)) / problems for row in replicas])),
        ),
        (f"avg@{n}", float(100 * numpy.mean([c / n for c in counts]))),
        (f"pass@{n}", float(100 * numpy.mean([1.0 if c else 0.0 for c in counts]))),
        (f"cons@{n}", float(100 * numpy.mean([1.0 if c > n / 2 else 0.0 for c in counts]))),
    ]


def test_a_deterministic_half_right_model_seems_to_pass_everything() -> None:
    matrix = [[1] * 5, [0] * 5] * 4
    true = summarize(matrix).estimate("pass@5")
    assert true is not None
    assert true.value == 0.5
    assert printed(client_results(matrix)) == {
        "accuracy (5 runs average)": "50.00",
        "avg@5": "50.00",
        "pass@5": "100.00",
        "cons@5": "50.00",
    }


def test_its_groups_are_of_different_problems() -> None:
    assert client_groups([[place] * 5 for place in range(8)])[0] == (0, 1, 2, 3, 4)


def test_soft_scores_make_the_accuracy_only() -> None:
    results = client_results([[1, 0], [1, 1]], [[0.6, 0.3], [0.9, 1.0]])
    assert results["accuracy (2 runs average)"] == pytest.approx(70.0)
    assert results["avg@2"] == 75.0


def test_uneven_rows_and_nothing_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="fills every problem"):
        client_results([[1, 0], [1]])
    with pytest.raises(ValueError, match="no prediction"):
        client_results([])


@pytest.mark.parametrize(
    ("text", "gold", "extracted", "correct"),
    [
        ("The answer is 18", "... #### 18", "18", True),
        ("The answer is 18.0", "#### 18", "18.0", True),
        ("The answer is $70,000.", "#### 70,000", "000", False),
        ("234", "#### 1,234", "234", False),
        ("The answer is 1,234", "#### 234", "234", True),
        ("18. (Checked in 2 ways.)", "#### 18", "2", False),
        ("Question: what? 18", "#### 18", "NULL", False),
        ("18\nQuestion: next? 5", "#### 18", "18", True),
        ("−18", "#### -18", "18", False),
        ("1/2", "#### 2", "2", True),
        ("", "#### 18", "NULL", False),
        ("thinking 3</think> 18", "#### 18", "18", True),
        ("<think>18", "#### 18", "18", True),
        ("<think>3</think>18 <think>4</think>", "#### 18", "18", True),
        ("18", "18", "18", True),
        ("18.5", "#### 18.5", "18.5", True),
        ("18.50", "#### 18.5", "18.50", False),
    ],
)
def test_the_clients_grader_errors_included(
    text: str, gold: str, extracted: str, correct: bool
) -> None:
    assert client_grade(text, gold) == (extracted, correct)


pieces = st.lists(st.sampled_from([*"<think>/ 0123.-,Q:", "<think>", "</think>", "Question:"])).map(
    "".join
)


@given(pieces)
def test_the_client_s_reading_is_its_own_expressions(text: str) -> None:
    import re

    body = text
    if "<think>" not in text and "</think>" in text:
        body = text.rpartition("</think>")[2]
    else:
        body = re.sub(r"<think>(.*?)</think>", "", text, flags=re.DOTALL)
    numbers = re.findall(r"\-?\d+\.\d+|\-?\d+", body.strip().split("Question:")[0])
    assert client_answer(text) == (numbers[-1] if numbers else "NULL")


def test_gold_has_no_separators() -> None:
    assert client_gold("He has 70,000.\n#### 70,000") == "70000"


@pytest.mark.parametrize(
    ("answer", "text", "read"),
    [
        ("so\n#### 18", "It is 18.", ("18", 1.0)),
        ("so\n#### 1,234", "It is 1,234.", ("234", 0.0)),
        ("18", "It is 18.", None),  # its grader of GSM8K is not the one for a user's questions
        ("Paris", "Paris", None),
    ],
)
def test_an_answer_in_words_is_not_held_against_the_grader_of_numbers(
    answer: str, text: str, read: tuple[str, float] | None
) -> None:
    _, mark, final = answer.rpartition("#### ")
    problem = Problem(
        id="1",
        family="gsm8k" if mark else "qa",
        tier="",
        question="?",
        answer=final,
        worked=answer if mark else "",
    )
    assert client_reading(problem, Sample(order=0, problem=0, repeat=0, text=text)) == read
