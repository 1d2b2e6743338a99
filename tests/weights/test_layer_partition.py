"""plan/layer-partition: what get_pp_indices of vLLM refuses, and what it accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from tests.weights.folders import QWEN3, findings, judge, model, plan, said

CHECK, VARIABLE = "plan/layer-partition", "VLLM_PP_LAYER_PARTITION"
NESTED = {
    "architectures": ["Qwen3VLForConditionalGeneration"],
    "model_type": "qwen3_vl",
    "text_config": {"num_hidden_layers": 28},
}
UNKNOWN = {"architectures": ["WarpForCausalLM"], "model_type": "warp"}


@pytest.mark.parametrize(
    ("config", "partition", "options", "fix"),
    [
        (QWEN3, "32,29", {"pipeline_parallel_size": "2"}, f"write {VARIABLE}=18,18"),
        (QWEN3, "9,9,9,8", {"pipeline_parallel_size": "4"}, f"write {VARIABLE}=9,9,9,9"),
        (QWEN3, "12,12,12", {"pipeline_parallel_size": "2"}, f"write {VARIABLE}=18,18"),
        (QWEN3, "18,18", {}, f"unset {VARIABLE}"),
        (QWEN3, "", {}, f"unset {VARIABLE}"),
        (QWEN3, "18;18", {"pipeline_parallel_size": "2"}, f"write {VARIABLE}=18,18"),
        (NESTED, "18,18", {"pipeline_parallel_size": "3"}, f"write {VARIABLE}=10,9,9"),
        (UNKNOWN, "18,18", {"pipeline_parallel_size": "4"}, f"unset {VARIABLE}"),
        (
            QWEN3,
            "18,18",
            {"pipeline_parallel_size": "2", "hf_overrides": json.dumps({"num_hidden_layers": 4})},
            f"write {VARIABLE}=2,2",
        ),
    ],
)
def test_a_partition_that_vllm_refuses(
    config: dict[str, object], partition: str, options: dict[str, str], fix: str, tmp_path: Path
) -> None:
    launch = plan(environment={VARIABLE: partition}, **options)
    results = judge(model(tmp_path / "w", config), CHECK, plan=launch)
    assert findings(results) == {CHECK: "fail"}
    assert f"{VARIABLE}={partition}" in said(results, CHECK)
    assert results[CHECK].findings[0].fix.endswith(fix)


@pytest.mark.parametrize(
    ("config", "partition", "options"),
    [
        (QWEN3, "20, 16", {"pipeline_parallel_size": "2"}),
        (QWEN3, "36", {}),
        (NESTED, "14,14", {"pipeline_parallel_size": "2"}),
        (UNKNOWN, "18,18", {"pipeline_parallel_size": "2"}),
        (QWEN3, "9,9,9,9", {"pipeline_parallel_size": "<unresolved:by a function>"}),
    ],
)
def test_a_partition_that_vllm_accepts(
    config: dict[str, object], partition: str, options: dict[str, str], tmp_path: Path
) -> None:
    launch = plan(environment={VARIABLE: partition}, **options)
    result = judge(model(tmp_path / "w", config), CHECK, plan=launch)[CHECK]
    assert (result.outcome, result.findings) == (Outcome.PASS, ())


@pytest.mark.parametrize(
    ("environment", "engine"),
    [
        ({}, "vllm"),
        ({VARIABLE: "1,2"}, "sglang"),
        ({VARIABLE: "<unresolved:by a function>"}, "vllm"),
    ],
)
def test_without_a_known_partition_there_is_nothing_to_compare(
    environment: dict[str, str], engine: str, tmp_path: Path
) -> None:
    launch = plan(environment=environment, engine=engine)
    assert judge(model(tmp_path / "w"), CHECK, plan=launch)[CHECK].outcome is Outcome.SKIP
