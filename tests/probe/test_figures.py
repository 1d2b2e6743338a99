"""The figures of a run by tier, by operation and by length."""

from __future__ import annotations

from pathlib import Path

from healthcheck.report.measured import measured
from healthcheck.stages.probe.results import figures, strata
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.folder import load
from tests.support.probes import recorded


def test_tiers_keep_their_order_and_their_problems(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", {"easy": 1.0, "medium": 0.0, "hard": 1.0}))
    found = [(each.tier, each.problems, each.correct) for each in figures.tiers(run)]
    assert found == [("easy", 20, 100), ("medium", 20, 0), ("hard", 20, 100)]
    assert figures.overall(run).correct == 200


def test_one_answer_of_each_problem_is_chosen_by_four_rules(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.8))
    assert compute_metrics(run)["accuracy (5 runs average)"]
    assert [said for _, said in figures.choices(run)] == [
        "any sample", "the most frequent answer", "the most frequent answer, of several the first",
        "a right sample, where there is one",
    ]  # fmt: skip
    assert len(measured(run).choices) == 4


def test_strata_divide_the_problems_and_reach_the_page(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", {"easy": 1.0, "medium": 1.0, "hard": 0.0}))
    found = strata.strata(run)
    assert list(found) == ["operation", "length of the question"]
    lengths = found["length of the question"]
    assert [each.tier for each in lengths] == ["short", "medium", "long"]
    assert sum(each.problems for each in lengths) == 60
    assert lengths[2].correct < lengths[0].correct  # the hard questions are the long ones
    with_times = [each for each in found["operation"] if "*" in each.tier]
    assert with_times
    assert all(each.correct == 0 for each in with_times)
    assert [name for name, _ in measured(run).strata] == list(found)
