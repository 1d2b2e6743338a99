"""The report folder: bytes of AISBench's own reports, and of one written by hand."""

from __future__ import annotations

import json
from pathlib import Path

from healthcheck.stages.probe.aisbench.client_files import ClientReport, Failure, Prediction, files_of, write
from healthcheck.stages.probe.aisbench.client_results import client_results

HAND_WRITTEN = ClientReport(
    stamp="20260326_151326",
    pid=29317,
    dataset="arithmetic",
    version="0ba9da",
    predictions=(
        Prediction(
            id=0,
            uuid="0" * 32,
            origin_prompt=[{"role": "HUMAN", "prompt": "一加一？"}],
            prediction="答案是 2",
            gold="#### 2",
        ),
        Prediction(id=1, uuid="1" * 32, origin_prompt="1+2", prediction="4", gold=""),
    ),
    failures=(Failure(id=1, input="1+2", error_info="Internal Server Error"),),
    results=client_results([[1, 0], [0, 0]]),
    config={"models": [{"abbr": "m", "generation_kwargs": {"num_return_sequences": 2}, "stream": True}]},
)


def test_a_report_has_aisbenchs_files() -> None:
    files = files_of(HAND_WRITTEN)
    assert sorted(files) == [
        "configs/20260326_151326_29317.py",
        "predictions/vllm-api-stream-chat/arithmetic.jsonl",
        "predictions/vllm-api-stream-chat/arithmetic_failed.jsonl",
        "results/vllm-api-stream-chat/arithmetic.json",
        "summary/summary_20260326_151326.csv",
    ]
    assert files["summary/summary_20260326_151326.csv"].decode() == (
        "dataset,version,metric,mode,vllm-api-stream-chat\n"
        "arithmetic,0ba9da,accuracy (2 runs average),gen,25.00\n"
        "arithmetic,0ba9da,avg@2,gen,25.00\n"
        "arithmetic,0ba9da,pass@2,gen,50.00\n"
        "arithmetic,0ba9da,cons@2,gen,0.00\n"
    )
    first, second = files["predictions/vllm-api-stream-chat/arithmetic.jsonl"].decode().splitlines()
    assert first == (
        '{"data_abbr": "arithmetic", "id": 0, "success": true, "uuid": "00000000000000000000000000000000", '
        '"origin_prompt": [{"role": "HUMAN", "prompt": "一加一？"}], "prediction": "答案是 2", "gold": "#### 2"}'
    )
    assert "gold" not in json.loads(second)


def test_writing_puts_the_same_bytes_on_disk(tmp_path: Path) -> None:
    write(HAND_WRITTEN, tmp_path)
    written = {str(f.relative_to(tmp_path)): f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    assert written == files_of(HAND_WRITTEN)
