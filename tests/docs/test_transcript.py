"""The run that the README shows is what the kit prints of such a run, in each language."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.check import note
from healthcheck.core.records import UNJUDGED, CheckResult, Outcome, Report, Verdict
from healthcheck.core.stages import SUBMISSION, Stage
from healthcheck.report import terminal
from healthcheck.text.language import Language, translation
from tests.docs.blocks import ROOT

COUNTS = {
    Stage.REPO: (8, 0),
    Stage.PLAN: (23, 0),
    Stage.WEIGHTS: (14, 6),
    Stage.SERVICE: (4, 0),
    Stage.ENDPOINT: (20, 3),
    Stage.PROBE: (7, 0),
}
FIGURES = {
    "accuracy (5 runs average)": (0.80, 0.743, 0.849),
    "pass@5": (0.9583, 0.904, 0.987),
    "cons@5": (0.8167, 0.739, 0.879),
}


def report() -> Report:
    outcomes = [
        (stage, outcome)
        for stage, (passed, skipped) in COUNTS.items()
        for outcome in [Outcome.PASS] * passed + [Outcome.SKIP] * skipped
    ]
    measured = note("", evidence={UNJUDGED: FIGURES["accuracy (5 runs average)"][0]})
    return Report(
        verdict=Verdict.READY,
        results=tuple(
            CheckResult(
                id=f"{stage.name}/{number}",
                stage=stage,
                title="",
                outcome=outcome,
                why="",
                findings=(measured,) if number == len(outcomes) - 1 else (),
            )
            for number, (stage, outcome) in enumerate(outcomes)
        ),
        asked=SUBMISSION.whole,
        metrics={
            name: {"value": value, "low": low, "high": high, "question": "problems like these"}
            for name, (value, low, high) in FIGURES.items()
        },
        provenance={"sandbox": "isolated", "task": "text-generation"},
    )


@pytest.mark.parametrize(
    ("name", "language"), [("README.md", Language.ENGLISH), ("README.zh-CN.md", Language.CHINESE)]
)
def test_the_readme_shows_what_is_printed(
    name: str,
    language: Language,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    terminal.show(report(), translation(language), page=Path("report.html"))
    assert capsys.readouterr().out in (ROOT / name).read_text("utf-8")
