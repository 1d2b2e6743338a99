"""JUnit, GitHub and Markdown: read back by what reads them, or by their rules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.core.records import CheckResult, Finding, Level, Outcome, Report, verdict_of
from healthcheck.core.stages import Stage
from healthcheck.report import folder, github, junit, summary
from tests.support import reports


def failing(seen: str) -> Report:
    finding = Finding(
        level=Level.FAIL,
        expected="port 8000",
        seen=seen,
        fix="write --port 8000",
        where="deploy.sh:7",
    )
    results = (
        CheckResult(id="plan/port", stage=Stage.PLAN, title="The port", outcome=Outcome.FAIL, why="It connects.", rule=None,
                    findings=(finding,)),
    )  # fmt: skip
    return Report(verdict=verdict_of(results), results=results, asked="repo to plan")


def test_junit_counts_an_unsettled_check_as_an_error_and_nothing_unsure_as_passed() -> None:
    root = ET.fromstring(junit.render(reports.report()))
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6", "failures": "1", "errors": "3", "skipped": "1",
    }  # fmt: skip
    ends = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert ends == {
        "repo/deploy-sh-present": [],
        "plan/port": ["failure"],
        "weights/size": ["skipped"],
        "service/port-free": ["error"],
        "endpoint/stream": ["error"],
        "probe/accuracy": ["error"],
    }
    (failure,) = root.iter("failure")
    assert "port 8000" in failure.get("message")
    assert "write --port 8000" in failure.text
    suites = {suite.get("name"): suite.get("tests") for suite in root.iter("testsuite")}
    assert suites["plan"] == "1"


@given(st.text())
def test_junit_is_xml_whatever_a_stranger_wrote(seen: str) -> None:
    (failure,) = ET.fromstring(junit.render(failing(seen))).iter("failure")
    assert failure.text.startswith("expected port 8000; saw ")


@given(st.text())
def test_an_annotation_is_one_line_that_begins_one_command(seen: str) -> None:
    (line,) = github.commands(failing(seen))
    assert len(line.splitlines()) <= 1 or not re.search(r"[\r\n]", line)
    assert line.startswith(
        "::error file=deploy.sh,line=7,title=plan/port%3A The port::expected port 8000; saw "
    )
    assert line.endswith("%0Afix: write --port 8000")


def test_annotations_name_what_broke_failures_first() -> None:
    lines = list(github.commands(reports.report()))
    kinds = [re.match(r"::(\w+) ", line)[1] for line in lines]
    assert kinds == ["error"] * 4 + ["warning"]
    assert "title=plan/port" in lines[0]


def test_publishing_adds_to_the_step_summary_and_leaves_standard_output_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    page = tmp_path / "summary"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    github.publish(reports.report())
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n## npu-adapter: not ready: plan/port failed")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n::") == 4


def outside_code(markdown: str) -> str:
    """What of a Markdown text is not in a fenced block."""
    kept, fence = [], ""
    for line in markdown.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif opened := re.match("(`{3,})text$", line):
            fence = opened[1]
        else:
            kept.append(line)
    assert not fence, "a block is never closed"
    return "\n".join(kept)


@given(st.text(alphabet=st.sampled_from("`~ab\n<&@|[\\")) | st.just(reports.HOSTILE))
def test_what_a_stranger_wrote_stands_in_code_only(seen: str) -> None:
    text = summary.render(failing(f"{seen} STRANGER"))
    assert "STRANGER" in text
    assert "STRANGER" not in outside_code(text)


def test_the_summary_says_what_to_do_next_and_the_figures() -> None:
    text = summary.render(reports.report())
    assert "deploy.sh:7: write --port 8000" in text
    assert "| avg@5 | 50.00 | 40.0 to 60.0 |" in text
    assert "must listen on port 8000" in text


def test_the_folder_has_the_report_for_programs_people_and_merge_requests(tmp_path: Path) -> None:
    folder.write(tmp_path / "new" / "report", reports.report())
    written = {path.name: path.read_bytes() for path in (tmp_path / "new" / "report").iterdir()}
    assert written.keys() == {"report.json", "report.html", "summary.md"}
    assert json.loads(written["report.json"])["verdict"] == "not-ready"
    assert not any(b"\x1b" in data for data in written.values())
