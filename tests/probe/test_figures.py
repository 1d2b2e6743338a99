"""The figures of a run by tier."""

from __future__ import annotations

from pathlib import Path

from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.run.folder import load
from tests.probe.conftest import recorded


def test_tiers_keep_their_order_and_their_problems(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", {"easy": 1.0, "medium": 0.0, "hard": 1.0}))
    found = [(each.tier, each.problems, each.correct) for each in figures.tiers(run)]
    assert found == [("easy", 20, 100), ("medium", 20, 0), ("hard", 20, 100)]
    assert figures.overall(run).correct == 200
