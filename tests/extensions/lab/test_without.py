"""The core works without the laboratory, and says so where something needs it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core import extensions
from healthcheck.core.progress import Silent
from healthcheck.errors import UsageError
from healthcheck.report.measured import measured
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.laboratory import adaptive_k
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.folder import load
from tests.probe.conftest import SETTINGS, recorded
from tests.support.commands import ran

ASKED = replace(SETTINGS, adaptive_k=0.05)


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
    assert measured(run).reliability is None


@pytest.mark.usefixtures("without")
def test_the_option_that_needs_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--adaptive-k needs the extension lab, which is not installed here"):
        measure(ASKED, Silent(), tmp_path)


@pytest.mark.usefixtures("without")
def test_a_run_with_adaptive_k_is_not_read_as_one_without(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.8))
    with pytest.raises(UsageError, match="needs the extension lab"):
        figures.grid(replace(run, settings=replace(SETTINGS, adaptive_k=0.0)))


@pytest.mark.usefixtures("without")
def test_its_command_is_not_there() -> None:
    done = ran("score", "run")
    assert done.returncode == 2
    assert "score" in done.stderr


def test_with_it_nothing_is_refused() -> None:
    assert adaptive_k(ASKED)
