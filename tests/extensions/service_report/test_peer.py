"""The kit beside the real evaluation client: same endpoint, same data, same figures; and each reads the other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.extensions.service_report.archive import open_reports
from healthcheck.extensions.service_report.reading import Reading, read_task
from healthcheck.extensions.service_report.task import tasks_of
from healthcheck.simulator import Behaviour, Simulator
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings
from healthcheck.stages.probe.results import export
from healthcheck.stages.probe.run.bank import bank
from tests.probe.conftest import rewritten
from tests.support.aisbench import AISBench, evaluate

pytestmark = [pytest.mark.peer, pytest.mark.timeout(900)]
SAMPLES = 5
SETTINGS = ProbeSettings(
    url="", problems=24, samples=SAMPLES, seed=3, full=True, concurrency=1, max_tokens=512, temperature=0.7
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
        settings = replace(SETTINGS, url=simulator.url)
        ours = measure(settings, Silent(), tmp_path / "kit").folder
    read_theirs, read_ours = read(theirs), read(ours)
    assert [[s.client for s in row] for row in read_ours.grid] == [
        [s.client for s in row] for row in read_theirs.grid
    ]
    name = "results/vllm-api-stream-chat/arithmetic.json"
    assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert read_ours.task.printed == read_theirs.task.printed == read_theirs.emulated
    assert read_ours.task.version == read_theirs.task.version
    mine, its = (max((folder / "summary").glob("summary_*.csv")).read_bytes() for folder in (ours, theirs))
    assert mine == its

    # The client evaluates the kit's predictions, and comes to the kit's results.
    reused = client.folder / "out" / "20260101_000000"
    shutil.copytree(ours / "predictions", reused / "predictions")
    client.run(1, "--mode", "eval", "--reuse", reused.name)
    assert (reused / name).read_bytes() == (ours / name).read_bytes()


def evaluated_again(run: ProbeRun, folder: Path) -> None:
    """The client, given nothing but the run's folder, comes to the figures and the table that the kit wrote."""
    export.finish(replace(run, folder=folder))
    ours = {path: path.read_bytes() for path in (*folder.glob("results/*/*.json"), *folder.glob("summary/*.csv"))}
    assert len(ours) == 2
    for path in ours:
        path.unlink()
    evaluate(folder)
    (results,), (table,) = folder.glob("results/*/*.json"), folder.glob("summary/*.csv")
    assert [results.read_bytes(), table.read_bytes()] == list(ours.values())


@pytest.mark.parametrize("part", ["whole", "failures", "two rounds", "half a round"])
def test_a_run_s_folder_evaluates_again(tmp_path: Path, part: str) -> None:
    with Simulator(behaviour("uneven")) as simulator:
        run = measure(replace(SETTINGS, url=simulator.url, concurrency=8), Silent(), tmp_path / "run")
    if part == "failures":
        run = rewritten(run, lambda s: replace(s, text="", error="HTTP 500") if s.order % 7 == 0 else s)
    kept = {"two rounds": 2 * len(run.problems) + 5, "half a round": len(run.problems) // 2}.get(
        part, len(run.samples)
    )
    evaluated_again(replace(run, samples=run.samples[:kept], grades=run.grades[:kept]), tmp_path / "again")
