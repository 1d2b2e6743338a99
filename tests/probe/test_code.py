"""Code problems: rows of HumanEval, MBPP and APPS, whose answers run in the sandbox."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.extensions.simulator.behaviour import Behaviour
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe import facts
from healthcheck.stages.probe.data_sets.code_rows import problem
from healthcheck.stages.probe.data_sets.dataset import draw
from healthcheck.stages.probe.grading import Grade, code, grade
from healthcheck.stages.probe.problems import Problem, prompt
from tests.probe.code_rows import (
    APPS,
    BODY,
    HUMAN_EVAL,
    MBPP,
    PROMPT,
    RIGHT,
    WRONG,
    fenced,
    of_body,
)
from tests.support.probes import Probe, even

ROOT = Path(__file__).parents[2]
FEW_RIGHTS = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
LACKING = str(ROOT / "tests/security/lacking.py")
MODES = {"isolated": "", "confined": "userns"}


def problem_of(row: dict[str, object]) -> Problem:
    found = problem("row", row)
    assert found
    return found


def jsonl(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def in_mode(lacks: str, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run Python without a feature of the kernel, as a user who cannot become another one."""
    if lacks and (os.geteuid() != 0 or not shutil.which("setpriv")):
        pytest.skip("needs root, and setpriv to take its rights")
    without = (*FEW_RIGHTS, sys.executable, LACKING, lacks) if lacks else ()
    return subprocess.run(
        (*without, sys.executable, "-I", *words), env={**os.environ, "LACKING_PACKAGE": str(ROOT)}, cwd="/",
        capture_output=True, text=True, timeout=300, check=False, **more,
    )  # fmt: skip


def graded(lacks: str, answers: dict[str, str]) -> dict[str, Any]:
    asked = json.dumps({"row": HUMAN_EVAL, "answers": answers})
    done = in_mode(lacks, str(ROOT / "tests/probe/grade_code.py"), input=asked)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.process
@pytest.mark.parametrize("mode", MODES)
def test_answers_pass_that_are_right_and_no_others_and_nothing_is_left(mode: str) -> None:
    before = {place: set(os.listdir(place)) for place in ("/tmp", "/var/tmp", "/dev/shm")}
    told = graded(
        MODES[mode], {**WRONG, **(RIGHT if mode == "isolated" else {"body": RIGHT["body"]})}
    )
    assert told["mode"] == mode
    assert {
        name: said
        for name, (score, said) in told["grades"].items()
        if (score == 1.0) != (name in RIGHT)
    } == {}
    assert told["grades"]["prints without end"] == [0.0, "time"]
    assert not [
        process
        for process in psutil.process_iter(["cmdline"])
        if "77.25" in (process.info["cmdline"] or ())
    ]
    named = [name for place, names in before.items() for name in set(os.listdir(place)) - names]
    assert not [
        name
        for name in named
        if "left-by-an-answer" in name or f"npu-adapter-{os.getpid()}" in name
    ]


@pytest.mark.process
def test_what_is_seen_of_a_wrong_answer_is_said() -> None:
    seen = {
        name: grade(problem_of(HUMAN_EVAL), WRONG[name]).extracted
        for name in ("constant", "sys.exit", "os._exit")
    }
    assert seen == {
        "constant": "AssertionError",
        "sys.exit": "SystemExit: 0",
        "os._exit": "ended before its tests did",
    }
    whole, body = (grade(problem_of(HUMAN_EVAL), RIGHT[name]) for name in ("whole", "body"))
    assert (whole.strict, body.correct, body.strict) == (True, True, False)
    assert whole.by == f"tests in a sandbox ({code.mode().value})"


@pytest.mark.process
@pytest.mark.parametrize(
    ("row", "answer", "right"),
    [
        (MBPP, fenced("def sum(a, b):\n    return a + b"), True),
        (MBPP, fenced("def sum(a, b):\n    return a - b"), False),
        (MBPP, "```python\r\ndef sum(a, b):\r\n    return a + b\r\n```\r\nIt adds the two.", True),
        ({**APPS, "input_output": {"inputs": ["3"], "outputs": ["0011"]}}, fenced("print('0011')"), True),
        ({**APPS, "input_output": {"inputs": ["3"], "outputs": ["0011"]}}, fenced("print(11)"), False),
        (MBPP, fenced("def add(a, b):\n    return a + b"), False),
        ({**MBPP, "test_imports": ["import math"], "test_list": ["assert sum(math.pi, 0) == math.pi"]},
         "def sum(a, b): return math.fsum([a, b])", True),
        (APPS, fenced("while True:\n    try: print(float(sum(map(int, input().split()))))\n    except EOFError: break"), True),
        (APPS, fenced("print(3)\nprint(7)"), False),
        (APPS, fenced("print('[\"3\\\\n7\\\\n\", \"5\\\\n\"]')"), False),
        (APPS, fenced("import sys\nfor line in sys.stdin:\n    print(sum(map(int, line.split())))\nsys.exit(3)"), False),
        (APPS, fenced("while True: print('x' * 9999)"), False),
        (APPS, fenced("import sys\nprint(sum(map(int, sys.stdin.read().split()))"), False),
    ],
    ids=lambda value: str(value)[-60:],
)  # fmt: skip
def test_rows_of_other_forms_are_graded(row: dict[str, object], answer: str, right: bool) -> None:
    assert grade(problem_of(row), answer).correct is right


def test_code_is_asked_for_in_a_block() -> None:
    assert (
        prompt(problem_of(HUMAN_EVAL))
        == f"{PROMPT}\nWrite the whole function in one ```python block."
    )
    assert "assert sum(2, 3) == 5" in prompt(problem_of(MBPP))
    assert "reads standard input" in prompt(problem_of(APPS))


@pytest.mark.process
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**HUMAN_EVAL, "canonical_solution": "    return True\n"}, "solution has to pass its tests, and it does not (Asser"),
        ({**HUMAN_EVAL, "test": f"import unheard_of\n{HUMAN_EVAL['test']}"}, "No module named 'unheard_of'): correct"),
        ({**HUMAN_EVAL, "entry_point": "no name"}, "is to name a function"),
        ({**HUMAN_EVAL, "test": "assert True"}, "define check(candidate)"),
        ({**MBPP, "test_list": "assert sum(1, 2)"}, "'test_list' is to be a list of at most 1000 texts"),
        ({**MBPP, "test_list": ["assert add(1, 2) == 3"]}, "calls no function that its code defines"),
        ({**APPS, "input_output": "{"}, "is to be JSON"),
        ({**APPS, "input_output": '{"fn_name": "f", "inputs": [], "outputs": []}'}, "no function is called"),
        ({**APPS, "input_output": {"inputs": ["1"], "outputs": []}}, "1 inputs and 0 outputs"),
    ],
    ids=lambda value: str(value)[-60:],
)  # fmt: skip
def test_a_row_that_no_answer_could_pass_is_refused(
    tmp_path: Path, row: dict[str, object], said: str
) -> None:
    path = jsonl(tmp_path / "rows.jsonl", row)
    with pytest.raises(UsageError) as refused:
        draw(path, 5, 0)
    assert str(refused.value).startswith(f"{path}:1: ")
    assert said in str(refused.value)


@pytest.mark.process
def test_without_a_sandbox_nothing_is_asked(tmp_path: Path) -> None:
    path, out = jsonl(tmp_path / "rows.jsonl", HUMAN_EVAL), tmp_path / "run"
    words = (
        "-m",
        "healthcheck",
        "probe",
        "http://127.0.0.1:9",
        "--dataset",
        str(path),
        "--out",
        str(out),
    )
    done = in_mode("userns,landlock", *words)
    assert done.returncode == 3
    assert "code in answers runs only in a sandbox" in (out / "report.json").read_text()
    assert not (out / "configs").exists()


ANSWERS = {  # as the simulated model says them: “The answer is …”
    PROMPT: f"\n{fenced(PROMPT + BODY)}\n",
    str(MBPP["text"]): f"\n{fenced('def sum(a, b): return 0')}\n",
    str(APPS["question"]): f"\n{fenced('import sys; sys.exit(0)')}\n",
}


@pytest.mark.process
def test_a_file_of_code_is_measured(tmp_path: Path) -> None:
    data, out = jsonl(tmp_path / "code.jsonl", HUMAN_EVAL, MBPP, APPS), tmp_path / "run"
    with Simulator(Behaviour(answers=ANSWERS, accuracy=even(1.0), answer_tokens=6)) as server:
        words = ["--dataset", str(data), "--samples", "2", "--out", str(out)]
        assert main(["probe", server.url, *words]) == 0
        figures = json.loads((out / "results/metrics.json").read_text())
        assert main(["probe", server.url, "--resume", str(out)]) == 0
    assert json.loads((out / "results/metrics.json").read_text()) == figures
    assert figures["pass@2"]["value"] == pytest.approx(1 / 3)
    assert sorted(figures["graders"]) == [
        f"{what} in a sandbox ({code.mode().value})" for what in ("outputs", "tests")
    ]


@pytest.mark.process
def test_code_runs_beside_the_sampling(
    probe: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No grade comes before the last answer is asked for, and yet all are asked for."""
    loops: list[asyncio.AbstractEventLoop | None] = []
    asked = threading.Event()

    def run(problem: Problem, text: str, *, finish_reason: str) -> Grade:
        loops.append(asyncio._get_running_loop())
        assert asked.wait(60)
        return grade(problem, text, finish_reason=finish_reason)

    class Journal(facts.Journal):
        count = 0

        def append(self, sample: Any) -> None:
            super().append(sample)
            Journal.count += 1
            if Journal.count == 9:
                asked.set()

    monkeypatch.setattr(facts, "grade", run)
    monkeypatch.setattr(facts, "Journal", Journal)
    data = jsonl(tmp_path / "code.jsonl", HUMAN_EVAL)
    with Simulator(Behaviour(answers=ANSWERS, accuracy=even(1.0), answer_tokens=6)) as server:
        measured = probe(server.url, dataset=str(data), samples=9, concurrency=1)
    assert loops == [None] * 9
    assert [one.score for one in measured.grades] == [1.0] * 9


def test_an_empty_answer_runs_nothing() -> None:
    assert grade(problem_of(HUMAN_EVAL), "<think>never ends") == Grade()
    assert (
        code.found_in(of_body("return 1"), problem_of(HUMAN_EVAL)).before
        == PROMPT.partition("def ")[0]
    )
