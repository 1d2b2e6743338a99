"""The kit beside the real evaluation client: same endpoint, same data, same figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.extensions.service_report.archive import open_reports
from healthcheck.extensions.service_report.reading import Reading, read_task
from healthcheck.extensions.service_report.task import tasks_of
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.results import export
from healthcheck.stages.probe.run.bank import bank
from tests.support.aisbench import AISBench

pytestmark = [pytest.mark.peer, pytest.mark.timeout(900)]
SAMPLES = 5
SETTINGS = ProbeSettings(
    url="",
    problems=24,
    samples=SAMPLES,
    seed=3,
    full=True,
    concurrency=1,
    max_tokens=512,
    temperature=0.7,
)
CASES = {
    "even": (dict.fromkeys(("easy", "medium", "hard"), 0.7), 0.0),
    "uneven": ({"easy": 1.0, "medium": 0.6, "hard": 0.1}, 0.6),
}


def behaviour(case: str) -> Behaviour:
    problems = bank(SETTINGS)
    accuracy, correlation = CASES[case]
    return Behaviour(
        seed=5,
        answers={problem.question: problem.answer for problem in problems},
        labels={problem.question: problem.tier for problem in problems},
        accuracy=accuracy,
        correlation=correlation,
        answer_tokens=8,
    )


def read(folder: Path) -> Reading:
    (report,) = open_reports(folder)
    (task,) = tasks_of(report)
    return read_task(task)


@pytest.mark.parametrize("case", CASES)
def test_the_client_and_the_kit_see_the_same_samples_and_figures(tmp_path: Path, case: str) -> None:
    problems = bank(SETTINGS)
    client = AISBench(tmp_path / "client", problems, samples=SAMPLES)
    with Simulator(behaviour(case)) as simulator:
        theirs = client.run(simulator.port)
    with Simulator(behaviour(case)) as simulator:
        run = measure(replace(SETTINGS, url=simulator.url), Silent(), tmp_path / "kit")
    reading = read(theirs)
    answers = [s.client for row in reading.grid for s in row]
    samples = sorted(run.samples, key=lambda sample: (sample.problem, sample.repeat))
    ours = (export.client_reading(run.problems[sample.problem], sample) for sample in samples)
    assert answers == [read and read[1] for read in ours]
    results = json.loads(
        (theirs / "results/vllm-api-stream-chat/arithmetic.json").read_text("utf-8")
    )
    assert {name: results[name] for name in export.client_figures(run)} == export.client_figures(
        run
    )
    assert export.client_column(run) == reading.task.printed == reading.emulated
