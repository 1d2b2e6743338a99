"""plan/options-suit-chip: options that a 310P refuses, and those that it needs, release by release."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.weights import folders
from tests.weights.folders import findings, model, plan, said
from tests.weights.test_experts import QWEN3_30B

CHECK = "plan/options-suit-chip"
judge = partial(folders.judge, only=CHECK)
QWEN35_27B = {
    "architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text", "dtype": "bfloat16", "hidden_size": 5120, "num_hidden_layers": 64,
        "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256, "full_attention_interval": 4,
        "mamba_ssm_dtype": "float32", "max_position_embeddings": 262144, "vocab_size": 248320,
    },
}  # fmt: skip
QWEN36_35B = {
    "architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe",
    "text_config": {
        "model_type": "qwen3_5_moe_text", "dtype": "bfloat16", "hidden_size": 2048, "num_hidden_layers": 40,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "full_attention_interval": 4,
        "num_experts": 256, "moe_intermediate_size": 512, "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144, "vocab_size": 248320,
    },
}  # fmt: skip
QWEN3_NEXT = {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "torch_dtype": "bfloat16",
    "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
    "num_experts": 512, "moe_intermediate_size": 512, "full_attention_interval": 4,
}  # fmt: skip
TWO = {"tensor_parallel_size": "2"}
PARALLEL = {**TWO, "enable_expert_parallel": ""}
STATE = {"mamba_ssm_cache_dtype": "float16"}


@pytest.mark.parametrize(
    ("config", "options", "row", "npu", "outcome", "says"),
    [
        # the statement that raises: _310p/fused_moe/fused_moe.py of each release
        (QWEN3_30B, PARALLEL, "0.22.1rc1", "310P3-Duo", "fail", "leave --enable-expert-parallel out"),
        (QWEN3_30B, PARALLEL, "0.23.0", "310P3", "fail", "Expert Parallel is not supported on 310P"),
        (QWEN3_30B, PARALLEL, "0.21.0rc1", "310P3-Duo", "fail", "vllm-ascend 0.21.0rc1 on a 310P3-Duo"),
        (QWEN3_30B, PARALLEL, "0.20.2rc1", "310P3-Duo", None, ""),
        (QWEN3_30B, PARALLEL, "0.24.0rc1", "310P3-Duo", None, ""),
        (QWEN3_30B, PARALLEL, "0.23.0", "910B3", None, ""),
        (QWEN3_30B, TWO, "0.23.0", "310P3-Duo", None, ""),
        # one device has no group of experts
        (QWEN3_30B, {"enable_expert_parallel": ""}, "0.23.0", "310P3-Duo", None, ""),
        (folders.QWEN3, PARALLEL, "0.23.0", "310P3-Duo", None, ""),
        (QWEN35_27B, TWO, "0.23.0", "310P3-Duo", "fail", "pass --mamba-ssm-cache-dtype float16"),
        (QWEN35_27B, {"mamba_ssm_cache_dtype": "auto"}, "0.23.0", "310P3-Duo", "fail", "--mamba-ssm-cache-dtype auto"),
        (QWEN35_27B, STATE, "0.23.0", "310P3-Duo", None, ""),
        (QWEN35_27B, TWO, "0.23.0", "910B3", None, ""),
        (QWEN36_35B, PARALLEL, "0.23.0", "310P3-Duo", "fail", "leave --enable-expert-parallel out"),
        # the tutorial's own line for a 310P
        (QWEN36_35B, TWO, "0.23.0", "310P3-Duo", "warn", "Qwen3.6-35B-A3B leaves the option out"),
        (QWEN36_35B, {**TWO, **STATE}, "0.23.0", "310P3-Duo", None, ""),
        (QWEN3_NEXT, TWO, "0.23.0", "310P3-Duo", None, ""),
    ],
)  # fmt: skip
def test_options_on(
    config: dict, options: dict, row: str, npu: str, outcome: str | None, says: str, tmp_path: Path
) -> None:
    launch = replace(plan(dtype="float16", **options), stack=row)
    results = judge(model(tmp_path / "w", config), plan=launch, npu=npu, npus=2)
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert says in said(results, CHECK)


def test_the_repair_names_the_key_of_adapter_toml(tmp_path: Path) -> None:
    launch = replace(plan(**PARALLEL), settings="# a\nenable_expert_parallel = true\n")
    results = judge(model(tmp_path / "w", QWEN3_30B), plan=launch, npu="310P3-Duo")
    assert "leave enable_expert_parallel out of adapter.toml:2" in said(results, CHECK)


@pytest.mark.parametrize(
    "facts", [{"npu": "310P3"}, {"plan": plan()}, {"plan": plan(engine="mindie"), "npu": "310P3"}]
)
def test_where_no_rule_applies(facts: dict, tmp_path: Path) -> None:
    assert judge(model(tmp_path / "w"), **facts)[CHECK].outcome.value == "skip"
