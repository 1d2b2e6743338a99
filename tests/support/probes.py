"""Runs of the probe, measured or recorded, and what its checks say of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult
from healthcheck.extensions.simulator.bank import known
from healthcheck.extensions.simulator.behaviour import Behaviour
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.records import Patience, ProbeRun, ProbeSettings, Sample
from healthcheck.stages.probe.run import folder
from healthcheck.stages.probe.run.bank import bank, schedule
from healthcheck.stages.probe.run.folder import JOURNAL, Outcome
from healthcheck.stages.probe.run.journal import Journal

Probe = Callable[..., ProbeRun]
QUICK = Patience(connect_s=5, silence_s=60, answer_s=120, attempts=3, first_wait_s=0.01, strikes=8)
SETTINGS = ProbeSettings(url="http://127.0.0.1:1", model="m", problems=60, samples=5, seed=4)
"""Of recorded runs."""


def behaviour(**other: object) -> Behaviour:
    """A simulated model that knows the arithmetic problems of the default seed."""
    known_ones = known(seed=0, count=40, families=("arithmetic",))
    answers = {question: answer for question, (answer, _) in known_ones.items()}
    labels = {question: tier for question, (_, tier) in known_ones.items()}
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


def judged(run: ProbeRun) -> dict[str, CheckResult]:
    return {check.id: check.judge(run) for check in CHECKS}


def seen(result: CheckResult) -> str:
    return " ".join(finding.seen for finding in result.findings)


def rewritten(run: ProbeRun, change: Callable[[Sample], Sample]) -> ProbeRun:
    """The run as it would be, had the server sent other answers."""
    samples = tuple(map(change, run.samples))
    grades = (
        grade(run.problems[each.problem], each.text, finish_reason=each.finish_reason)
        for each in samples
    )
    return replace(run, samples=samples, grades=tuple(grades))


def recorded(
    where: Path,
    accuracy: float | dict[str, float],
    *,
    settings: ProbeSettings = SETTINGS,
    seed: int = 1,
    fail: int = 0,
) -> Path:
    """A run folder as a probe leaves it, of a server that is right with this probability, or with that of the tier."""
    problems = bank(settings)
    folder.begin(where, settings, problems, {"model": settings.model})
    journal = Journal(where / JOURNAL)
    for slot in schedule(len(problems), settings.samples, settings.seed):
        known = accuracy[problems[slot.problem].tier] if isinstance(accuracy, dict) else accuracy
        right = random.Random(f"{seed} {slot.problem} {slot.repeat}").random() < known
        text = f"The answer is {problems[slot.problem].answer if right else '-1'}"
        error = "HTTP 500" if slot.order < fail else ""
        journal.append(
            Sample(
                order=slot.order,
                problem=slot.problem,
                repeat=slot.repeat,
                text="" if error else text,
                error=error,
            )
        )
    journal.close()
    folder.write_outcome(where, Outcome(stopped="", seconds=1.0))
    return where
