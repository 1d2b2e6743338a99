"""Answers that a filter ended, and those that a cache gave again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.records import CheckResult
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.run.folder import load
from tests.support.probes import recorded, rewritten

LONG = "The answer is seven, since four boxes and three boxes are seven boxes. Sample {}. The answer is 7."


def judged(name: str, run: ProbeRun) -> CheckResult:
    return next(check for check in CHECKS if check.id == name).judge(run)


@pytest.mark.parametrize(("reason", "filtered", "outcome"), [
    ("content_filter", 0, "pass"), ("content_filter", 1, "warn"), ("content_filter", 30, "fail"), ("abort", 30, "fail"),
    ("eos_token", 300, "pass"),
])  # fmt: skip
def test_what_a_filter_ended_is_told(
    tmp_path: Path, reason: str, filtered: int, outcome: str
) -> None:
    run = load(recorded(tmp_path / "run", 0.9))
    ended = rewritten(
        run, lambda each: replace(each, finish_reason=reason) if each.order < filtered else each
    )
    found = judged("probe/truncated", ended)
    assert found.outcome.value == outcome
    assert (
        not filtered
        or outcome == "pass"
        or f"{filtered} of {len(run.samples)} have" in found.findings[0].seen
    )


@pytest.mark.parametrize(("another", "told"), [(0, True), (1, True), (10, False)])
def test_the_same_text_for_nearly_all_problems_is_told(
    tmp_path: Path, another: int, told: bool
) -> None:
    """`another` problems have answers that differ, as where a cache misses."""
    run = load(recorded(tmp_path / "run", 0.9))
    texts = {
        each.order: LONG.format(f"{each.problem} {each.repeat if each.problem < another else 0}")
        for each in run.samples
    }
    found = judged(
        "probe/degenerate", rewritten(run, lambda each: replace(each, text=texts[each.order]))
    )
    assert any("a cache of answers" in each.fix for each in found.findings) is told
