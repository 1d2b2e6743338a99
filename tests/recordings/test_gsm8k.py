"""A data set in the form of GSM8K."""

from __future__ import annotations

from healthcheck.stages.probe.data_sets.dataset import draw
from healthcheck.stages.probe.grading import grade
from tests.support.recordings import recording


def test_recorded_gsm8k_lines_are_read() -> None:
    problems = draw(recording("aisbench-synthetic-120.jsonl"), 1000, 0).problems
    assert len(problems) == 120
    assert all(grade(problem, f"work it out\n#### {problem.answer}").strict for problem in problems)
