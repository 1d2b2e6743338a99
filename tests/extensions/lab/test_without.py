"""The core works without the laboratory, and says so where something needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core import extensions
from healthcheck.report.measured import measured
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.folder import load
from tests.support.commands import ran
from tests.support.probes import recorded


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "OWN", ())


@pytest.mark.usefixtures("without")
def test_a_run_has_its_figures(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.8))
    assert compute_metrics(run)["accuracy (5 runs average)"]
    assert [said for _, said in figures.choices(run)] == [
        "any sample", "the most frequent answer", "the most frequent answer, of several the first",
        "a right sample, where there is one",
    ]  # fmt: skip
    assert len(measured(run).choices) == 4


@pytest.mark.usefixtures("without")
def test_its_command_is_not_there() -> None:
    done = ran("score", "run")
    assert done.returncode == 2
    assert "score" in done.stderr
