"""Reports that AISBench wrote: read, put right, and reproduced byte for byte."""

from __future__ import annotations

import json

import pytest

from healthcheck.stages.probe.aisbench.client_results import client_results
from healthcheck.stages.probe.aisbench.grader import client_grade
from tests.support.aisbench_files import ClientReport, Failure, Prediction, files_of
from tests.support.recordings import recording

GOLDEN = (
    "v3.1-20260319_bimodal_n5",
    "v3.1.20260630_bimodal_n5",
    "v3.1.20260630_fail_then_resumed_n5",
    "v3.1.20260630_failall",
    "v3.1.20260630_halfright_120x5",
    "v3.1.20260630_iid70_120x5",
    "v3.1.20260630_truncated_stream_n5",
)


@pytest.mark.parametrize("run", GOLDEN)
def test_golden_summaries_and_results_are_reproduced_byte_for_byte(run: str) -> None:
    folder = recording(f"aisbench-golden/{run}")
    last = max(folder.glob("summary/*.csv"))
    stamp, (_, first, *_) = last.stem.removeprefix("summary_"), last.read_text("utf-8").splitlines()
    dataset, version = first.split(",")[:2]
    found = list(folder.glob("results/*/*.json"))
    results = json.loads(found[0].read_text("utf-8")) if found else None
    plain = (
        None if results is None else {name: v for name, v in results.items() if name != "details"}
    )
    report = ClientReport(
        stamp=stamp,
        pid=1,
        dataset=dataset,
        version=version,
        predictions=(),
        results=plain,
        config={},
    )
    files = files_of(report)
    assert files[f"summary/{last.name}"] == last.read_bytes()
    if results is not None and "details" not in results:
        assert files[f"results/{report.model}/{dataset}.json"] == found[0].read_bytes()


@pytest.mark.parametrize("run", GOLDEN[:3])
def test_golden_predictions_are_reproduced_byte_for_byte(run: str) -> None:
    (file,) = recording(f"aisbench-golden/{run}").glob("predictions/*/*_gsm8k.jsonl")
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    predictions = tuple(
        Prediction(
            id=r["id"],
            uuid=r["uuid"],
            origin_prompt=r["origin_prompt"],
            prediction=r["prediction"],
            gold=r["gold"],
        )
        for r in records
    )
    report = ClientReport(
        stamp="s",
        pid=1,
        dataset="demo_gsm8k",
        version="-",
        predictions=predictions,
        results=None,
        config={},
    )
    assert files_of(report)[f"predictions/{report.model}/demo_gsm8k.jsonl"] == file.read_bytes()


def test_golden_failures_are_reproduced_byte_for_byte() -> None:
    run = recording("aisbench-golden/v3.1.20260630_truncated_stream_n5")
    (file,) = run.glob("predictions/*/*_failed.jsonl")
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    failures = tuple(
        Failure(id=r["id"], input=r["input"], error_info=r["error_info"]) for r in records
    )
    report = ClientReport(
        stamp="s",
        pid=1,
        dataset="demo_gsm8k",
        version="-",
        predictions=(),
        failures=failures,
        results=None,
        config={},
    )
    assert (
        files_of(report)[f"predictions/{report.model}/demo_gsm8k_failed.jsonl"] == file.read_bytes()
    )


@pytest.mark.parametrize(
    "run", ["iid70_120x5", "halfright_120x5", "bimodal_n5", "truncated_stream_n5", "n1_details"]
)
def test_golden_results_are_reproduced_to_the_last_bit(run: str) -> None:
    folder = recording(f"aisbench-golden/v3.1.20260630_{run}")
    (file,) = (f for f in folder.glob("predictions/*/*.jsonl") if not f.stem.endswith("_failed"))
    rows: dict[int, list[int]] = {}
    golds: dict[int, str] = {}
    for line in file.read_text("utf-8").splitlines():
        record = json.loads(line)
        golds[record["id"]] = record["gold"]
        rows.setdefault(record["id"], []).append(
            int(client_grade(record["prediction"], record["gold"])[1])
        )
    n = max(map(len, rows.values()))
    matrix = [rows.get(i, []) + [0] * (n - len(rows.get(i, []))) for i in range(max(rows) + 1)]
    (result,) = folder.glob("results/*/*.json")
    stored = json.loads(result.read_text("utf-8"))
    assert client_results(matrix) == {name: stored[name] for name in client_results(matrix)}
