"""What a person and a program read of a report."""

from __future__ import annotations

import json

import pytest

from healthcheck import contract
from healthcheck.check import Findings, check, fail, warn
from healthcheck.records import Report, Stage, verdict_of
from healthcheck.report import machine, terminal, words
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


def test_a_person_reads_expectation_observation_reason_rule_and_repair(report: Report, capsys) -> None:
    terminal.show(report)
    text = " ".join(capsys.readouterr().out.split())
    for needed in ("port 8000", "--port 8001", "deploy.sh:7", "The service connects", "must listen on port 8000",
                   "write --port 8000", "Verdict: not ready: plan/port failed", "npu-adapter explain plan/port"):  # fmt: skip
        assert needed in text


def test_no_control_character_of_a_submission_reaches_the_terminal_or_the_report(report: Report, capsys) -> None:
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
    assert words.headline(partial).startswith("ready, as far as it was asked (repo to weights)")
