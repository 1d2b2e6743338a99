"""What a data set's right answers are taken for, and which of them are refused when the file is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.extensions.simulator.behaviour import Behaviour
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.data_sets.dataset import draw
from healthcheck.stages.probe.grading import golds, grade, judge
from healthcheck.stages.probe.grading.judge import Verdict
from healthcheck.stages.probe.problems import AnswerKind, Problem, prompt, requested
from tests.support.probes import even

pytestmark = pytest.mark.process

NUMBERS = (
    "18", "-5", "3/4", "1,234", "50%", "$18", "$70,000", "18 apples", "36个", "5 cm", "x = 5", r"\frac{3}{4}",
    "1.5 million", "5 USD", r"\$18.90", "0.5", "1.234.567", r"12\%", "1969",
)  # fmt: skip
EXPRESSIONS = (
    "(3, 14)", "x^2+5x+12", r"\{1,2\}", r"2\sqrt{3}", r"\frac{\pi}{2}", "y=2x+1", r"(-\infty, 2]", "[1, 3)", "3+4i", "1, 2",
    "-2, 5", r"\begin{pmatrix}1\\2\end{pmatrix}", "x > 3", "5x", "2√3", r"\frac{x}{2}", "a^2+b^2", "sin(x)+1", r"x \in [1,2]",
)  # fmt: skip
PHRASES = (
    "Team 7", "6:14", "3:7", "July 20, 1969", "Paris", "N/A", "C++", "555-1234", "1969-07-20", "7/20/1969", "12 Angry Men",
    "7th", "Yes", "巴黎", "10 Downing Street", "20 July", r"\text{Evelyn}", "A", "3D", "B2B", "Louis XIV", "2-3",
    "18元5角", "2 hours 30 minutes", "三十六", "two thirds", "not 5",
)  # fmt: skip
KINDS = [
    *((gold, AnswerKind.NUMBER) for gold in NUMBERS),
    *((gold, AnswerKind.EXPRESSION) for gold in EXPRESSIONS),
    *((gold, AnswerKind.PHRASE) for gold in PHRASES),
]


def problem(gold: str, question: str = "?") -> Problem:
    return Problem(
        id="x", family="qa", tier="", question=question, answer=gold, kind=golds.kind_of(gold)
    )


@pytest.mark.parametrize(("gold", "kind"), KINDS)
def test_a_gold_is_what_it_looks_like_and_right_when_it_is_given_back(
    gold: str, kind: AnswerKind
) -> None:
    assert golds.kind_of(gold) is kind
    for form in (
        gold,
        requested(problem(gold)),
        f"The answer is {gold}.",
        rf"So it is \boxed{{{gold}}}.",
        f"**{gold}**",
    ):
        assert grade(problem(gold), form).correct, form


@pytest.mark.parametrize("gold", [*NUMBERS, *EXPRESSIONS, *PHRASES])
def test_the_first_number_of_a_gold_is_not_the_gold(gold: str) -> None:
    digits = next(
        (part for part in gold.replace(",", " ").split() if part.strip("()[]{}$").isdigit()), ""
    )
    if golds.kind_of(gold) is not AnswerKind.NUMBER and digits:
        assert not grade(problem(gold), f"The answer is {digits.strip('()[]{}$')}.").correct


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("x^2+2x+1", "2"), (r"\{1,2\}", "1"), ("July 20, 1969", "20"), ("Team 7", "Team 6, not Team 7"), ("(5, 2)", "(14, 3)"),
     ("[1, 3]", "(1, 3)"), ("e^{-20}", "e^{-30}"), ("(3, 14)", "3.14"), ("3:7", "3"), ("6:14", "14")],
)  # fmt: skip
def test_wrong_answers_that_used_to_pass(gold: str, answer: str) -> None:
    for form in (answer, f"The answer is {answer}.", rf"\boxed{{{answer}}}"):
        assert not grade(problem(gold), form).correct


def written(folder: Path, *answers: object) -> Path:
    path = folder / "x.jsonl"
    path.write_text(
        "".join(
            json.dumps({"question": f"Q{n}", "answer": a}) + "\n" for n, a in enumerate(answers)
        )
    )
    return path


@pytest.mark.parametrize(
    "gold", ["<think>5", "...", "5\n\nQuestion: 6", r"x^{2", r"A\cup B"]
)  # fmt: skip
def test_a_row_whose_own_gold_is_not_graded_right_is_refused(tmp_path: Path, gold: str) -> None:
    with pytest.raises(UsageError) as refused:
        draw(written(tmp_path, "1", gold, "2"), 10, 0)
    assert "x.jsonl:2: " in str(refused.value)
    assert repr(gold[:40])[1:-1] in str(refused.value)


def test_a_server_that_gives_the_golds_back_is_wholly_right(tmp_path: Path) -> None:
    path = written(tmp_path, *NUMBERS, *EXPRESSIONS, *PHRASES)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answers = {row["question"]: row["answer"] for row in rows}
    with Simulator(Behaviour(answers=answers, accuracy=even(1.0))) as server:
        options = ["--dataset", str(path), "--samples", "1", "--out", str(tmp_path / "run")]
        assert main(["probe", server.url, *options]) == 0
    metrics = json.loads((tmp_path / "run" / "report.json").read_text())["metrics"]
    assert metrics["avg@1"]["value"] == 1.0
    assert sum(metrics["graders"].values()) == len(rows)


@pytest.mark.parametrize(
    ("row", "asks"),
    [
        ({"question": "How many?", "answer": "5"}, "End with: The answer is N."),
        ({"question": "Capital?", "answer": "Paris"}, "End with: The answer is X."),
        ({"question": "首都是哪里？", "answer": "巴黎"}, "最后写：答案是X。"),
        ({"question": "Expand.", "answer": "x^2+1"}, r"End with the answer in \boxed{}."),
        ({"question": "展开。", "answer": "x^2+1"}, r"最后把答案写在\boxed{}中。"),
        (
            {"question": "Which?", "A": "1", "B": "2", "answer": "B"},
            "End with the letter: The answer is X.",
        ),
        ({"question": "哪个？", "A": "1", "B": "2", "answer": "B"}, "最后写出字母：答案是X。"),
        ({"question": "几个？", "answer": "#### 5"}, "请逐步思考。最后写：答案是N。"),
    ],
)
def test_the_prompt_states_the_form_of_the_answer(
    tmp_path: Path, row: dict[str, str], asks: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row))
    assert prompt(draw(path, 1, 0).problems[0]).endswith(f"\n{asks}")


def test_without_math_verify_the_rows_and_the_command_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "5", "(3, 14)", "Paris", r"2\sqrt{3}")
    assert draw(path, 9, 0).of == 4
    monkeypatch.setattr(judge, "installed", lambda: False)
    with pytest.raises(UsageError) as refused:
        draw(path, 9, 0)
    assert "2 rows are expressions (2, 4)" in str(refused.value)
    assert "pip install 'math-verify<0.10,>=0.9'" in str(refused.value)
    assert draw(written(tmp_path, "5", "Paris"), 9, 0).of == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("9^{9^{9^9}}", Verdict.NO_END), ("x" * 5000, Verdict.TOO_LONG), (r"\text{__import__('os')}", Verdict.TOO_LONG),
     ("", Verdict.DIFFERENT), ("}{", Verdict.DIFFERENT), ("\0$\n$", Verdict.DIFFERENT)],
)  # fmt: skip
def test_hostile_expressions_end_at_a_limit_and_the_next_one_is_judged(
    answer: str, verdict: Verdict
) -> None:
    assert judge.compare("x^2", answer) is verdict
    assert judge.compare("x^2+1", "1+x^2") is Verdict.EQUAL


def test_a_judge_that_gives_no_verdict_is_named(tmp_path: Path) -> None:
    graded = grade(problem("x^2+1"), r"\boxed{9^{9^{9^9}}}")
    assert not graded.correct
    assert graded.by.startswith("math-verify ")
    assert graded.by.endswith("(no end)")
    assert grade(problem("x^2+1"), r"\boxed{1+x^2}").by.startswith("math-verify ")
    assert grade(problem("x^2+1"), r"\boxed{x^2 + 1}").by == ""


@pytest.mark.slow
def test_after_too_many_comparisons_without_an_end_nothing_is_judged() -> None:
    child = judge.Child(max_no_end=1)
    assert child.ask("x^2+1", "1+x^2") is Verdict.EQUAL
    assert child.ask("x^2", "9^{9^{9^9}}") is Verdict.NO_END
    assert child.ask("x^2+1", "1+x^2") is Verdict.NOT_JUDGED
