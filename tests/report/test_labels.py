"""The keys of a real report have labels; fields of the API and what others named stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck import cli
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.report.labels import labelled, text

OF_THE_API = {"max_model_len", "max_tokens", "owned_by", "stop", "temperature", "top_k"}
DATA = {"commit", "simulated", "X-Team"}


@pytest.mark.process
def test_every_key_of_a_report_has_a_label(tmp_path: Path) -> None:
    settings = (
        "system=Look.",
        "few_shot=2",
        "request_seed=7",
        "top_k=20",
        "api_key_env=HOME",
        "headers.X-Team=npu",
    )
    options = [word for setting in settings for word in ("--set", setting)]
    with Simulator(Behaviour(model="simulated")) as simulator:
        cli.main(
            ["probe", simulator.url, "--problems", "6", *options, "--out", str(tmp_path / "out")]
        )
    found = json.loads((tmp_path / "out" / "report.json").read_bytes())["provenance"]
    named = {part for label, _ in labelled(found) for part in label.split(" · ")}
    unnamed = {key for key in keys(found) if key in named}
    assert unnamed <= OF_THE_API | DATA
    assert {
        "variable of the API key",
        "seed of the requests",
        "system message",
        "operating system",
    } <= named


def keys(record: dict[str, object]) -> set[str]:
    inner = [keys(value) for value in record.values() if isinstance(value, dict)]
    return set(record).union(*inner)


def test_records_in_a_list_are_numbered() -> None:
    found = {
        "datasets": [{"file": "a.csv", "columns": {"answer": "gold"}}, {"file": "b c.csv"}],
        "stop": ["a b"],
    }
    assert {label: text(value) for label, value in labelled({"probe": found})} == {
        "accuracy probe · data sets · 1 · file": "a.csv",
        "accuracy probe · data sets · 1 · columns of the data set · answer": "gold",
        "accuracy probe · data sets · 2 · file": "b c.csv",
        "accuracy probe · stop": "'a b'",
    }
