from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.probe.facts import measure
from healthcheck.probe.grading import grade
from healthcheck.probe.records import Patience, ProbeRun, ProbeSettings, Sample
from healthcheck.progress import Silent
from healthcheck.simulator.bank import known
from healthcheck.simulator.behaviour import Behaviour

Probe = Callable[..., ProbeRun]
QUICK = Patience(connect_s=5, silence_s=60, answer_s=120, attempts=3, first_wait_s=0.01, strikes=8)


def behaviour(**other: object) -> Behaviour:
    """A simulated model that knows the arithmetic problems of the default seed."""
    bank = known(seed=0, count=40, families=("arithmetic",))
    answers = {question: answer for question, (answer, _) in bank.items()}
    labels = {question: tier for question, (_, tier) in bank.items()}
    return Behaviour(answers=answers, labels=labels, **other)  # type: ignore[arg-type]


def even(accuracy: float) -> dict[str, float]:
    return dict.fromkeys(("easy", "medium", "hard"), accuracy)


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    """Runs a small probe against a URL into a fresh folder."""

    def run(url: str, **settings: object) -> ProbeRun:
        chosen = {"problems": 12, "samples": 3, "concurrency": 8, "patience": QUICK, **settings}
        return measure(ProbeSettings(url=url, **chosen), Silent(), tmp_path / "run")  # type: ignore[arg-type]

    return run


def rewritten(run: ProbeRun, change: Callable[[Sample], Sample]) -> ProbeRun:
    """The run as it would be, had the server sent other answers."""
    samples = tuple(map(change, run.samples))
    grades = (grade(run.problems[each.problem], each.text, finish_reason=each.finish_reason) for each in samples)
    return replace(run, samples=samples, grades=tuple(grades))
