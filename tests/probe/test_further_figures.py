"""What a run says beyond its headline: pass@k with correlation, and how sharp it is with other numbers of samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.probe.facts import stored_metrics
from healthcheck.report.measured import measured
from healthcheck.simulator import Simulator
from tests.probe.conftest import Probe, behaviour, even

pytestmark = pytest.mark.process


def test_samples_that_all_agree_are_worth_one_however_many_are_taken(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(0.5), correlation=1.0)) as simulator:
        run = probe(simulator.url, problems=30, samples=4)
    figures = stored_metrics(run)
    share = figures["avg@4"]["value"]
    assert 0.1 < share < 0.9
    by_k = figures["correlated pass@k"]
    assert list(by_k) == ["pass@4", "pass@8", "pass@16"]
    for told in by_k.values():
        assert told["correlated"]["value"] == pytest.approx(share)
        assert told["independent"] > share + 0.05

    table = {row["samples"]: row for row in figures["standard error of pass@k"]["pass@1"]}
    assert list(table) == [1, 2, 3, 4, 8, 16, None]
    errors = {row["problems like these"] for row in table.values()}
    assert max(errors) == pytest.approx(min(errors))  # more samples of the same problems bring nothing
    assert {row["this bank again"] for row in table.values()} == {0.0}
    assert [row["samples"] for row in figures["standard error of pass@k"]["pass@3"]] == [3, 4]

    titles = [chart.title for chart in measured(run).charts]
    assert "Standard error of pass@2" in titles


def test_of_one_sample_a_problem_nothing_is_said_of_more(probe: Probe, tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(0.5))) as simulator:
        run = probe(simulator.url, problems=6, samples=1)
    assert stored_metrics(run)["correlated pass@k"] == {}
    assert stored_metrics(run)["standard error of pass@k"] == {}
    assert not any("Standard error" in chart.title for chart in measured(run).charts)
