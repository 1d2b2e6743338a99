"""Reports from other machines: bounded, plain, and never believed against the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.core.records import Verdict
from healthcheck.extensions.fleet import readback
from healthcheck.extensions.fleet.records import Attempt, Ending, Tone
from healthcheck.report import folder as report_folder
from tests.support import reports

GOOD = {
    "schema": 1, "verdict": "ready", "headline": "ready", "next_step": "", "asked": "", "checks": [], "metrics": {},
    "provenance": {}, "unknown_about_the_service": [],
}  # fmt: skip
CHECK = {
    "id": "plan/port", "stage": "plan", "outcome": "fail", "settled": True, "seconds": 1, "title": "", "why": "",
    "detail": "saw 8001", "fix": "", "rule": None, "evidence": [],
}  # fmt: skip


def written(folder: Path, report: object) -> Path:
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


def test_a_real_report_is_read(tmp_path: Path) -> None:
    whole = reports.report(simulated=True)
    report_folder.write(tmp_path, whole)
    facts = readback.facts(tmp_path)
    assert (facts.verdict, facts.simulated, facts.page) == (whole.verdict, True, True)
    assert sum(stage.checks for stage in facts.stages) == len(whole.results)
    assert {problem.check for problem in facts.problems if problem.tone is Tone.FAIL} == {
        result.id for result in whole.results if result.outcome.value == "fail"
    }


@pytest.mark.parametrize(
    "report",
    [
        [],
        {},
        GOOD | {"schema": 2},
        GOOD | {"verdict": "splendid"},
        GOOD | {"checks": "many"},
        GOOD | {"checks": [3]},
        GOOD | {"checks": [CHECK] * 3000},
        GOOD | {"checks": [CHECK | {"stage": "<mars>"}]},
        GOOD | {"checks": [CHECK | {"outcome": "none"}]},
        GOOD | {"checks": [CHECK | {"outcome": ["fail"]}]},
        GOOD | {"checks": [CHECK | {"seconds": "soon"}]},
        GOOD | {"checks": [CHECK | {"id": "<script>"}]},
        GOOD | {"checks": [CHECK | {"id": "a" * 500}]},
    ],
)
def test_what_this_kit_does_not_write_is_refused(tmp_path: Path, report: object) -> None:
    with pytest.raises(readback.UnreadableError):
        readback.facts(written(tmp_path, report))


def test_a_huge_or_linked_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "report.json").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(readback.UnreadableError, match="longer than"):
        readback.facts(tmp_path)
    (tmp_path / "report.json").unlink()
    (tmp_path / "report.json").symlink_to("/dev/zero")
    with pytest.raises(readback.UnreadableError, match="not a file"):
        readback.facts(tmp_path)


def test_texts_and_times_are_bounded_and_plain(tmp_path: Path) -> None:
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    long = f"\x1b[2J {token} " + "x" * 5000
    checks = [CHECK | {"detail": long, "seconds": 1e300}, CHECK]
    facts = readback.facts(written(tmp_path, GOOD | {"headline": long, "checks": checks}))
    for text in (facts.headline, facts.problems[0].said):
        assert len(text) <= readback.MAX_TEXT
        assert "\x1b" not in text
        assert token not in text
    assert facts.stages[0].seconds == 1


@pytest.mark.parametrize(
    ("change", "ours"),
    [
        (lambda text: text, True),
        (lambda text: text.replace("script-src", "script-src 'unsafe-inline'", 1), False),
        (lambda text: "<script>alert(1)</script>" + text, False),
        (lambda text: text.replace("<head>", "<head><script>alert(1)</script>", 1), False),
        (lambda text: "", False),
    ],
)
def test_a_page_with_another_policy_is_not_linked(tmp_path: Path, change, ours: bool) -> None:
    report_folder.write(tmp_path, reports.report())
    page = tmp_path / report_folder.PAGE
    page.write_text(change(page.read_text("utf-8")), encoding="utf-8")
    assert readback.facts(tmp_path).page is ours


@pytest.mark.parametrize(
    ("status", "told", "verdict"),
    [
        (0, "ready", Verdict.READY),
        (1, "not-ready", Verdict.NOT_READY),
        (1, "ready", Verdict.INCONCLUSIVE),
        (0, "not-ready", Verdict.INCONCLUSIVE),
        (3, "ready", Verdict.INCONCLUSIVE),
        (-9, "ready", Verdict.INCONCLUSIVE),
        (200, "ready", Verdict.INCONCLUSIVE),
        (None, "ready", Verdict.INCONCLUSIVE),
    ],
)
def test_ready_takes_the_exit_status_and_the_report(
    tmp_path: Path, status, told: str, verdict: Verdict
) -> None:
    facts = readback.facts(written(tmp_path, GOOD | {"verdict": told}))
    attempt = Attempt(
        job="a", digest="d", number=1, ending=Ending.DONE, status=status, report=facts
    )
    assert attempt.verdict is verdict
