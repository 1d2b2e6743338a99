"""probe/steady: the last round of answers against the first."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.records import CheckResult
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.run.folder import load
from tests.support.probes import SETTINGS, recorded, rewritten


def judged(run: ProbeRun) -> CheckResult:
    return next(check for check in CHECKS if check.id == "probe/steady").judge(run)


def spoilt_from(run: ProbeRun, order: int) -> ProbeRun:
    return rewritten(
        run, lambda each: replace(each, text="The answer is -1.") if each.order >= order else each
    )


@pytest.mark.parametrize(
    ("begins", "outcome"),
    [(300, "pass"), (290, "pass"), (250, "fail"), (150, "fail"), (0, "pass")],
)
def test_answers_that_are_wrong_from_some_time_on_are_found(
    tmp_path: Path, begins: int, outcome: str
) -> None:
    """Of 300; where all are wrong, none is worse than another."""
    run = load(recorded(tmp_path / "run", 0.9))
    assert judged(spoilt_from(run, begins)).outcome.value == outcome


def with_waits(run: ProbeRun, first_s: tuple[float, ...]) -> ProbeRun:
    """The run with these waits for the first text in its rounds, give or take a tenth."""
    dice = random.Random(3)
    waited = (
        replace(each, first_s=first_s[each.repeat] * dice.uniform(0.9, 1.1)) for each in run.samples
    )
    return replace(run, samples=tuple(waited))


@pytest.mark.parametrize(
    ("first_s", "outcome"),
    [
        ((0.1, 5.0, 9.0, 13.0, 17.0), "warn"),
        ((9.0, 1.0, 1.1, 1.2, 1.3), "pass"),
        ((0.1, 5.0, 9.0, 4.0, 17.0), "pass"),
        ((0.1, 0.1, 0.2, 0.3, 0.4), "pass"),
    ],
)
def test_first_texts_that_come_later_and_later_are_told(
    tmp_path: Path, first_s: tuple[float, ...], outcome: str
) -> None:
    assert (
        judged(with_waits(load(recorded(tmp_path / "run", 0.9)), first_s)).outcome.value == outcome
    )


def test_rounds_that_are_sent_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """60 problems: of 120 requests in flight, a healthy server that serves in turn answers the second round last."""
    settings = replace(SETTINGS, concurrency=120)
    run = load(recorded(tmp_path / "run", 0.9, settings=settings))
    assert judged(with_waits(run, (0.1, 5.0, 9.0, 13.0, 17.0))).outcome.value == "pass"


def test_one_round_says_nothing(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.9, settings=replace(SETTINGS, samples=1)))
    assert judged(run).outcome.value == "skip"


@pytest.mark.slow
def test_healthy_servers_are_objected_to_as_rarely_as_the_page_says(tmp_path: Path) -> None:
    """At 1 %, a sign test of one round against another: more than 10 of 400 have a chance of 0.3 %."""
    accuracy = {"easy": 0.95, "medium": 0.7, "hard": 0.3}
    runs = (load(recorded(tmp_path / str(seed), accuracy, seed=seed)) for seed in range(400))
    assert sum(judged(run).outcome.value != "pass" for run in runs) <= 10
