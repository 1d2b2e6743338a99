"""What a person and a program read of a report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, note, warn
from healthcheck.core.records import CheckResult, Outcome, Report, verdict_of
from healthcheck.core.stages import SUBMISSION, Stage
from healthcheck.report import machine, terminal, words
from healthcheck.text.language import Language, translation
from tests.support import reports

HOSTILE = "\x1b[2J\x1b]0;title\x07[red]not markup[/red] \u202eright to left"


@check("plan/port", "The server listens on port 8000", stage=Stage.PLAN, why="The service connects to port 8000.",
       rule=contract.LISTENS_ON_PORT)  # fmt: skip
def port(seen: str) -> Findings:
    """A page."""
    yield warn(expected="nothing else", seen="a warning", fix="the second repair")
    yield fail(expected="port 8000", seen=seen, fix="write --port 8000", where="deploy.sh:7")


@pytest.fixture
def report() -> Report:
    results = (port.judge(f"--port 8001 {HOSTILE}"),)
    return Report(verdict=verdict_of(results), results=results, asked="repo to plan")


def test_json_follows_the_schema(report: Report) -> None:
    read = json.loads(machine.render(report))
    assert read["schema"] == 1
    assert read["verdict"] == "not-ready"
    (row,) = read["checks"]
    assert {
        "id",
        "stage",
        "outcome",
        "settled",
        "title",
        "detail",
        "fix",
        "rule",
        "evidence",
        "seconds",
    } <= row.keys()
    assert (row["id"], row["stage"], row["outcome"]) == ("plan/port", "plan", "fail")
    assert row["detail"].startswith("expected port 8000; saw --port 8001")
    assert row["fix"].splitlines() == ["write --port 8000", "the second repair"]
    assert "the HTTP server must listen on port 8000." in row["rule"]
    assert "documented" in row["rule"]


def test_json_tells_a_check_that_could_not_be_settled_from_one_that_was_left_out() -> None:
    rows = json.loads(machine.render(reports.report()))["checks"]
    skipped = {row["id"]: row["settled"] for row in rows if row["outcome"] == "skip"}
    assert skipped == {"weights/size": True, "probe/accuracy": False}


def test_a_person_reads_expectation_observation_reason_rule_and_repair(
    report: Report, capsys
) -> None:
    terminal.show(report)
    text = " ".join(capsys.readouterr().out.split())
    for needed in ("port 8000", "--port 8001", "deploy.sh:7", "must listen on port 8000",
                   "write --port 8000", "Verdict: not ready: plan/port failed", "npu-adapter explain plan/port"):  # fmt: skip
        assert needed in text
    terminal.show_everything(report)
    assert "The service connects to port 8000." in " ".join(capsys.readouterr().out.split())


FIGURES = {
    name: {
        "value": value,
        "low": value - 0.05,
        "high": value + 0.05,
        "question": "problems like these",
    }
    for name, value in (
        ("accuracy", 0.7),
        ("avg@5", 0.7),
        ("pass@5", 0.9),
        ("cons@5", 0.8),
        ("strict", 0.6),
        ("x", 0.5),
    )
}
FIGURES["samples with a soft score"] = 0


def whole(*others: CheckResult) -> Report:
    """A run of all stages with five sound checks each, and others."""
    sound = replace(port.judge("x"), outcome=Outcome.PASS, findings=(note("a remark"),))
    stages = (
        Stage.REPO,
        Stage.PLAN,
        Stage.WEIGHTS,
        Stage.SERVICE,
        Stage.ENDPOINT,
        Stage(name="numerics", title="", place=60),
        Stage.PROBE,
    )
    results = (*(replace(sound, stage=stage) for stage in stages for _ in range(5)), *others)
    return Report(
        verdict=verdict_of(results), results=results, asked=SUBMISSION.whole, metrics=FIGURES
    )


def printed(report: Report, capsys: pytest.CaptureFixture[str]) -> list[str]:
    terminal.show(report)
    return capsys.readouterr().out.splitlines()


def test_a_good_run_is_at_most_fifteen_lines_with_the_reports_place(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(whole(), capsys)
    assert len(lines) + 1 <= 15
    assert lines[0] == "repo      5 passed"
    assert [line.split()[0] for line in lines if "%" in line] == ["accuracy", "pass@5", "cons@5"]
    terminal.show_everything(whole())
    assert "a remark" in capsys.readouterr().out


@pytest.mark.parametrize("language", Language)
def test_figures_of_one_value_that_say_different_things_all_stand_there(
    capsys, language: Language
) -> None:
    perfect = {
        name: {"value": 1.0, "low": 0.97, "high": 1.0}
        for name in ("accuracy", "avg@5", "pass@5", "cons@5")
    }
    for soft, expected in (
        (0, ["accuracy", "pass@5", "cons@5"]),
        (2, ["accuracy", "avg@5", "pass@5", "cons@5"]),
    ):
        report = replace(
            whole(),
            results=whole().results[:5],
            metrics={**perfect, "samples with a soft score": soft},
        )
        terminal.show(report, translation(language))
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines if "100.00" in line] == expected


def test_a_run_with_one_failure_is_at_most_twentyfive_lines(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    failed = port.judge("--port 8001: " + "vllm serve /srv/weights/my-model --port 8001 " * 3)
    failed = replace(failed, findings=failed.findings[1:])
    assert len(printed(replace(whole(failed), metrics={}), capsys)) + 1 <= 25


def test_warnings_are_on_the_last_screen_with_their_repairs(capsys) -> None:
    warned = replace(port.judge("x"), id="plan/host", outcome=Outcome.WARN)
    lines = printed(whole(warned), capsys)
    text = " ".join(" ".join(lines[-20:]).split())
    assert "fix the second repair" in text
    assert "Verdict: ready; 1 warning: plan/host" in text


def test_a_command_of_one_stage_shows_its_remarks(capsys) -> None:
    remark = replace(
        port.judge("x"), stage=Stage.PROBE, outcome=Outcome.PASS, findings=(note("a remark"),)
    )
    report = Report(verdict=verdict_of((remark,)), results=(remark,), asked="probe")
    assert any("a remark" in line for line in printed(report, capsys))


def test_no_control_character_of_a_submission_reaches_the_terminal_or_the_report(
    report: Report, capsys
) -> None:
    terminal.show(report)
    shown = capsys.readouterr().out
    assert "[red]not markup[/red]" in shown
    for text in (shown, json.loads(machine.render(report))["checks"][0]["detail"]):
        assert not any(character in text for character in "\x1b\x07\u202e")


def test_a_partial_pass_says_how_far_it_went() -> None:
    @check("repo/deploy-sh-present", "deploy.sh is there", stage=Stage.REPO, why="it is run")
    def present(_facts: str) -> Findings:
        """A page."""
        yield from ()

    results = (present.judge(""),)
    partial = Report(verdict=verdict_of(results), results=results, asked="repo to weights")
    assert words.headline(partial).startswith("ready for the requested stages (repo to weights)")
