"""Reports of TextVQA: several persons' answers in place of a text, a soft score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.extensions.service_report.archive import open_reports
from healthcheck.extensions.service_report.reading import read_task
from healthcheck.extensions.service_report.task import tasks_of
from healthcheck.stages.probe.aisbench.client_results import client_results
from healthcheck.stages.probe.aisbench.textvqa import client_soft
from healthcheck.stages.probe.records import ProbeSettings, Sample
from healthcheck.stages.probe.results import export, figures
from healthcheck.stages.probe.run import folder
from healthcheck.stages.probe.run.bank import bank, schedule
from healthcheck.stages.probe.run.folder import JOURNAL, Outcome
from healthcheck.stages.probe.run.journal import Journal
from tests.extensions.service_report.made_reports import made, reading_of, said
from tests.probe.aisbench.test_textvqa import PREDICTIONS, persons


def report(texts: list[list[str]], answers: list[list[str]]) -> dict[str, bytes]:
    """A report whose predictions have persons' answers in place of a text."""
    files = made(texts, golds=["?"] * len(texts))
    lines = [json.loads(line) for line in files[PREDICTIONS].splitlines()]
    for line in lines:
        line["gold"] = [{"answer": said, "answer_id": place} for place, said in enumerate(answers[line["id"]])]
    scores = [
        [client_soft(text, persons(*given))[1] for text in row] for row, given in zip(texts, answers, strict=True)
    ]
    results = client_results([[int(score > 0.5) for score in row] for row in scores], scores)
    return {
        **{name: data for name, data in files.items() if not name.startswith("summary")},
        PREDICTIONS: b"".join(json.dumps(line).encode() + b"\n" for line in lines),
        "results/vllm-api-stream-chat/gsm8k.json": json.dumps(results).encode(),
    }


def test_a_report_with_persons_answers_is_recomputed_soft_and_hard() -> None:
    answers = [["stop"] * 2 + [f"other{n}" for n in range(8)], ["taxi"] * 10]
    reading = reading_of(report([["stop", "stop"], ["taxi", "bus"]], answers))
    assert reading.emulated == {
        "accuracy (2 runs average)": "55.00",
        "avg@2": "75.00",
        "pass@2": "100.00",
        "cons@2": "50.00",
    }
    assert reading.problems_implied == 0
    assert reading.truth is not None
    soft = reading.truth.estimate("accuracy (2 runs average)")
    assert soft is not None
    assert soft.value == pytest.approx(0.55)


def test_references_in_capitals_rob_right_answers_and_no_advice_is_given_that_cannot_help() -> None:
    reading = reading_of(report([["stop"]] * 3, [["STOP"] * 10] * 3))
    assert reading.emulated == {"accuracy": "0.00"}
    assert reading.regraded is not None
    assert reading.regraded.correct == 3
    assert "3 right answers were graded wrong" in said(reading)


def test_a_run_on_signs_prints_what_the_clients_grader_gives_and_reads_back(tmp_path: Path) -> None:
    settings = ProbeSettings(url="http://127.0.0.1:1", model="m", family="signs", problems=6, samples=2, seed=3)
    problems = bank(settings)
    folder.begin(tmp_path, settings, problems, {"model": "m"})
    journal = Journal(tmp_path / JOURNAL)
    for slot in schedule(6, 2, 3):
        answer = problems[slot.problem].answer
        # The kit takes the emphasis away; the client does not, and of "one way", the last, it reads "1 way".
        text = (f"The {answer.upper()}!", f"**{answer}**")[slot.repeat] if slot.problem else "a cat"
        journal.append(Sample(order=slot.order, problem=slot.problem, repeat=slot.repeat, text=text))
    journal.close()
    folder.write_outcome(tmp_path, Outcome(stopped="", seconds=1.0))
    run = folder.load(tmp_path)
    assert figures.accuracies(run)["all"] == pytest.approx(10 / 12)
    export.finish(run)
    (report,) = open_reports(tmp_path)
    (task,) = tasks_of(report)
    reading = read_task(task)
    assert reading.emulated == task.printed
    assert task.printed["avg@2"] == "33.33"  # the first samples of four problems
    assert reading.regraded is not None
    assert reading.regraded.correct == 10
