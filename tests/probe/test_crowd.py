"""probe/crowd: answers among many requests against the same problems asked alone."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.facts import resume
from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.run.layout import ALONE, OUTCOME
from healthcheck.stages.probe.statistics.changes import better_alone_p
from tests.support.probes import Probe, behaviour, even, recorded


def judged(run: ProbeRun) -> CheckResult:
    return next(check for check in CHECKS if check.id == "probe/crowd").judge(run)


def asked_alone(run: ProbeRun, right: float, count: int = 20) -> ProbeRun:
    """The run with `count` further samples, of which so many are right."""
    alone = []
    for place in range(count):
        problem = run.problems[place]
        text = f"The answer is {problem.answer if place < right * count else '-1'}."
        sample = replace(
            run.samples[0], problem=place, order=len(run.samples) + place, repeat=5, text=text
        )
        alone.append((sample, grade(problem, text)))
    return replace(run, alone=tuple(alone))


@pytest.mark.process
@pytest.mark.parametrize(
    ("crowd", "alone", "outcome"),
    [
        (0.8, 0.8, "pass"),
        (0.5, 1.0, "fail"),
        (1.0, 1.0, "pass"),
        (0.8, 0.3, "pass"),
        (0.0, 0.0, "pass"),
    ],
)
def test_a_crowd_that_is_worse_than_one_request_is_found(
    tmp_path: Path, crowd: float, alone: float, outcome: str
) -> None:
    run = load(recorded(tmp_path / "run", crowd))
    assert judged(asked_alone(run, alone)).outcome.value == outcome


@pytest.mark.process
def test_few_answers_alone_say_nothing(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.5))
    assert judged(run).outcome.value == "skip"
    assert judged(asked_alone(run, 1.0, 4)).outcome.value == "skip"


def test_the_chance_is_that_of_all_choices_of_the_answer_that_came_alone() -> None:
    asked = [(3, 1, True), (2, 2, True), (4, 0, True), (3, 3, False)]
    pools = [
        [1] * (right + alone) + [0] * (samples + 1 - right - alone)
        for samples, right, alone in asked
    ]
    chosen = [sum(each) for each in itertools.product(*pools)]
    expected = sum(total >= 3 for total in chosen) / len(chosen)
    assert better_alone_p(asked) == pytest.approx(expected)
    assert better_alone_p([]) == 1.0


def test_a_healthy_server_is_seldom_called_worse() -> None:
    """From independent samples to copies; the level is kept."""
    draw = random.Random(5)
    for copied in (0.0, 0.5, 1.0):
        below = 0
        for _ in range(1000):
            asked = []
            for _ in range(20):
                share = float(draw.random() < 0.7) if draw.random() < copied else 0.7
                answers = [draw.random() < share for _ in range(6)]
                asked.append((5, sum(answers[:5]), answers[5]))
            below += better_alone_p(asked) <= 0.01
        assert below <= 20  # ten expected at most, with a spread of 3


@pytest.mark.process
def test_a_probe_asks_twenty_problems_once_more_one_at_a_time(probe: Probe, tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(0.8))) as server:
        run = probe(server.url, problems=40, samples=2)
        assert sum(request.path.endswith("completions") for request in server.requests) == 100
        assert (len(run.samples), len(run.alone), run.stopped) == (80, 20, "")
        assert {sample.repeat for sample, _ in run.alone} == {2}
        assert figures.overall(run).samples == 80
        assert judged(run).outcome.value == "pass"
        again = resume(run.settings, Silent(), tmp_path / "run")
        assert sum(request.path.endswith("completions") for request in server.requests) == 100
    assert again.alone == run.alone


@pytest.mark.process
def test_a_probe_that_was_killed_asks_the_rest_alone(probe: Probe, tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(0.8))) as server:
        run = probe(server.url, problems=40, samples=2)
        folder = tmp_path / "run"
        (folder / OUTCOME).unlink()
        kept = (folder / ALONE).read_bytes().splitlines(keepends=True)[:7]
        (folder / ALONE).write_bytes(b"".join(kept) + b"{")
        again = resume(run.settings, Silent(), folder)
        assert sum(request.path.endswith("completions") for request in server.requests) == 113
    assert [sample.order for sample, _ in again.alone] == [sample.order for sample, _ in run.alone]


@pytest.mark.process
@pytest.mark.parametrize("settings", [{"problems": 20}, {"problems": 40, "concurrency": 1}])
def test_where_nothing_can_be_compared_nothing_is_asked(
    probe: Probe, settings: dict[str, int]
) -> None:
    with Simulator(behaviour(accuracy=even(0.8))) as server:
        assert probe(server.url, samples=2, **settings).alone == ()
