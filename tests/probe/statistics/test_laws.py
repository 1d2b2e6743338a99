"""The decision matrix of the documentation."""

from __future__ import annotations

import pytest

from healthcheck.probe.statistics.laws import (
    BIASED,
    EVEN,
    FAILING,
    RELIABLE,
    UNSTABLE,
    band,
    profile,
    settled,
)
from healthcheck.probe.statistics.summary import summarize


@pytest.mark.parametrize(
    ("passed", "avg", "cons", "agreement", "row"),
    [
        (0.95, 0.6, 0.4, None, UNSTABLE),
        (0.7, 0.6, 0.6, None, EVEN),
        (0.1, 0.05, 0.0, None, FAILING),
        (0.1, 0.05, 0.0, 0.9, BIASED),
        (0.1, 0.05, 0.0, 0.3, FAILING),
        (0.95, 0.9, 0.9, None, RELIABLE),
        (0.95, 0.4, 0.1, None, None),
    ],
)
def test_decision_matrix_without_its_impossible_row(
    passed: float, avg: float, cons: float, agreement: float | None, row: object
) -> None:
    assert profile(passed, avg, cons, agreement) == row


def test_bands_are_the_documents() -> None:
    assert [band(x).value for x in (0.81, 0.8, 0.5, 0.49)] == ["high", "mid", "mid", "low"]


@pytest.mark.parametrize(("problems", "right", "sure"), [(200, 195, True), (20, 16, False)])
def test_a_situation_is_settled_only_by_whole_intervals(problems: int, right: int, sure: bool) -> None:
    found = summarize([[1] * 5] * right + [[0] * 5] * (problems - right))
    headline = [estimate for name in ("pass", "avg", "cons") if (estimate := found.estimate(f"{name}@5"))]
    assert len(headline) == 3
    assert settled(headline) is sure
