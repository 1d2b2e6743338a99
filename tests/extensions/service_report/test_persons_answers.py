"""Reports of TextVQA: several persons' answers in place of a text, a soft score."""

from __future__ import annotations

import json

import pytest

from healthcheck.stages.probe.aisbench.client_results import client_results
from healthcheck.stages.probe.aisbench.textvqa import client_soft
from tests.extensions.service_report.made_reports import made, reading_of, said
from tests.probe.aisbench.test_textvqa import PREDICTIONS, persons


def report(texts: list[list[str]], answers: list[list[str]]) -> dict[str, bytes]:
    """A report whose predictions have persons' answers in place of a text."""
    files = made(texts, golds=["?"] * len(texts))
    lines = [json.loads(line) for line in files[PREDICTIONS].splitlines()]
    for line in lines:
        line["gold"] = [
            {"answer": said, "answer_id": place} for place, said in enumerate(answers[line["id"]])
        ]
    scores = [
        [client_soft(text, persons(*given))[1] for text in row]
        for row, given in zip(texts, answers, strict=True)
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
