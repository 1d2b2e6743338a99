"""Two runs held against each other, from their folders, through the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from healthcheck.cli import main
from healthcheck.stages.probe.records import RequestOptions
from healthcheck.stages.probe.run import folder
from healthcheck.stages.probe.run.bank import bank
from healthcheck.stages.probe.run.folder import JOURNAL
from healthcheck.text.language import VARIABLE
from tests.support.probes import SETTINGS, recorded


def test_the_same_server_twice_is_no_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = recorded(tmp_path / "a", 0.9, seed=1), recorded(tmp_path / "b", 0.9, seed=2)
    assert main(["compare", str(first), str(second), "--margin", "0.1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("no worse: a loss of 10.0 points is excluded")
    assert "\nA: a: m, 60 problems × 5\nB: b: m, 60 problems × 5\n" in said
    assert all(tier in said for tier in ("all", "easy", "medium", "hard"))


def test_two_broken_servers_are_not_no_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = recorded(tmp_path / "a", 0.02, seed=1), recorded(tmp_path / "b", 0.0)
    assert main(["compare", str(first), str(second)]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("undecided: A is right in ")
    assert "losing everything would be within the margin of 5.0 points" in said


def test_a_worse_server_is_called_so_and_its_lost_problems_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = recorded(tmp_path / "a", 1.0), recorded(tmp_path / "b", 0.5)
    assert main(["compare", str(first), str(second), "--json", str(tmp_path / "c.json")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("worse: B lost more than the margin")
    assert "  B: The answer is -1" in said
    stored = json.loads((tmp_path / "c.json").read_text())
    assert stored["shift"] == "worse"
    assert stored["comparisons"][0]["tests"][0]["worse_p"] < 1e-6
    flip = stored["flips"][0]
    assert flip["lost"] is True
    assert flip["first_answer"] == f"The answer is {flip['expected']}"
    assert flip["second_answer"] == "The answer is -1"
    assert 2 * flip["second"][0] <= flip["second"][1]


@pytest.mark.parametrize(
    ("language", "verdict", "test"),
    [
        (
            "en",
            "undecided: neither a loss nor its absence is shown (p 0.5000, ",
            "(signs by problem)",
        ),
        ("zh", "无法判定：", "（按题目的符号检验）"),
    ],
)
def test_one_problem_lost_with_all_its_samples_is_not_worse(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    verdict: str,
    test: str,
) -> None:
    monkeypatch.setenv(VARIABLE, language)
    first, second = recorded(tmp_path / "a", 1.0), recorded(tmp_path / "b", 1.0)
    journal = second / JOURNAL
    samples = [json.loads(line) for line in journal.read_text().splitlines()]
    wrong = [
        {**each, "text": "The answer is -1"} if each["problem"] == 7 else each for each in samples
    ]
    journal.write_text("".join(json.dumps(each) + "\n" for each in wrong))
    assert main(["compare", str(first), str(second), "--margin", "0.01"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(verdict)
    assert test in said


def test_one_sample_a_problem_uses_mcnemar_and_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = replace(SETTINGS, samples=1)
    first = recorded(tmp_path / "a", 0.7, settings=once, seed=1)
    second = recorded(tmp_path / "b", 0.7, settings=once, seed=2)
    assert (
        main(
            [
                "compare",
                str(first),
                str(second),
                "--margin",
                "0.01",
                "--json",
                str(tmp_path / "c.json"),
            ]
        )
        == 3
    )
    assert capsys.readouterr().out.startswith("undecided")
    tests = json.loads((tmp_path / "c.json").read_text())["comparisons"][0]["tests"]
    assert [test["name"] for test in tests] == ["exact McNemar"]


def test_one_lost_of_sixty_does_not_exclude_that_more_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = replace(SETTINGS, samples=1)
    first, second = (
        recorded(tmp_path / "a", 1.0, settings=once),
        recorded(tmp_path / "b", 1.0, settings=once, fail=1),
    )
    assert main(["compare", str(first), str(second), "--margin", "0.06"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("undecided: too few problems differ to exclude a loss of 6.0 points")
    assert "-1.7 [-5.0, +1.7]" in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 5}, "different problems"),
        ({"problems": 30}, "different problems"),
        ({"temperature": 0.0}, "temperature was 0.7 and 0.0"),
        ({"max_tokens": 64}, "--max-tokens 4096"),
        ({"request": RequestOptions(system="Be brief.")}, "system was not sent and"),
    ],
)
def test_runs_that_are_not_comparable_are_refused_and_told_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], reason: str
) -> None:
    first = recorded(tmp_path / "a", 0.9)
    second = recorded(tmp_path / "b", 0.9, settings=replace(SETTINGS, **change))
    assert main(["compare", str(first), str(second)]) == 2
    assert reason in capsys.readouterr().err


def test_half_right_is_neither_lost_nor_won(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = recorded(tmp_path / "a", 0.8, seed=1)
    second = recorded(tmp_path / "b", 0.8, settings=replace(SETTINGS, samples=2), seed=2)
    main(["compare", str(first), str(second), "--json", str(tmp_path / "c.json")])
    said = capsys.readouterr().out
    assert "the numbers of samples differ: 5 and 2 for each problem" in said
    assert "or that of CMH by problem, where it is larger" in said
    flips = json.loads((tmp_path / "c.json").read_text())["flips"]
    assert flips
    assert {flip["second"][0] for flip in flips} <= {0, 2}


def test_samples_that_differ_are_those_that_were_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    once = replace(SETTINGS, samples=1)
    first, second = recorded(tmp_path / "a", 0.9, settings=once), recorded(tmp_path / "b", 0.9)
    journal = second / JOURNAL
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:70]))
    main(["compare", str(first), str(second)])
    said = capsys.readouterr().out
    assert "numbers of samples differ" not in said
    assert "exact McNemar" in said


def test_failures_are_named_as_a_caveat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = recorded(tmp_path / "a", 0.9), recorded(tmp_path / "b", 0.9, fail=3)
    main(["compare", str(first), str(second)])
    assert "3 requests of the second run failed" in capsys.readouterr().out


def test_the_lines_fit_a_terminal_of_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = recorded(tmp_path / "a", 0.9), recorded(tmp_path / "b", 0.8)
    main(["compare", str(first), str(second)])
    table, _, _ = capsys.readouterr().out.partition("problems lost")
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nothing", "nothing of that name"),
        ("run.zip", "has to be unpacked"),
        ("notes.txt", "is a file"),
        ("outer", "outer/run is one"),
        ("report", "npu-adapter read"),
        ("head", "no complete sample: continue it"),
    ],
)
def test_what_stands_in_place_of_a_run_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, said: str
) -> None:
    first = recorded(tmp_path / "a", 0.9)
    (tmp_path / "run.zip").write_bytes(b"PK")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "report/predictions").mkdir(parents=True)
    recorded(tmp_path / "outer/run", 0.9)
    folder.begin(tmp_path / "head", SETTINGS, bank(SETTINGS), {"model": "m"})
    assert main(["compare", str(first), str(tmp_path / what)]) == 2
    assert said in capsys.readouterr().err


def test_what_is_no_run_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    first = recorded(tmp_path / "a", 0.9)
    assert main(["compare", str(first), str(tmp_path / "empty")]) == 2
    assert "empty" in capsys.readouterr().err
