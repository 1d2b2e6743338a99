"""plan/options-suit-chip: what a release refuses on a chip, needs there, and does wrongly, release by release."""

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
V4 = {
    "architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4", "hidden_size": 4096,
    "num_hidden_layers": 43, "num_attention_heads": 64, "n_routed_experts": 256, "compress_ratios": [0, 4, 128],
}  # fmt: skip
TWO = {"tensor_parallel_size": "2"}
PARALLEL = {**TWO, "enable_expert_parallel": ""}
STATE = {"mamba_ssm_cache_dtype": "float16"}
MTP = {**STATE, "speculative_config": '{"method": "qwen3_5_mtp", "num_speculative_tokens": 1}'}
CACHED = {**MTP, "enable_prefix_caching": ""}
COPIES = {"data_parallel_size": "2"}
STREAM = {
    **COPIES,
    **PARALLEL,
    "additional_config": '{"enable_flashcomm1": true, "multistream_overlap_shared_expert": true}',
}
FLASH = {"additional_config": '{"enable_flashcomm1": true}'}
REDUCED = {**TWO, "additional_config.enable_reduce_sample": "True"}


@pytest.mark.parametrize(
    ("config", "options", "row", "npu", "outcome", "says"),
    [
        # the statement that raises: _310p/fused_moe/fused_moe.py of each release
        (QWEN3_30B, PARALLEL, "0.22.1rc1", "310P3-Duo", "fail", "remove --enable-expert-parallel"),
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
        (QWEN36_35B, PARALLEL, "0.23.0", "310P3-Duo", "fail", "remove --enable-expert-parallel"),
        # the tutorial's own line for a 310P
        (QWEN36_35B, TWO, "0.23.0", "310P3-Duo", "warn", "Qwen3.6-35B-A3B leaves the option out"),
        (QWEN36_35B, {**TWO, **STATE}, "0.23.0", "310P3-Duo", None, ""),
        (QWEN3_NEXT, TWO, "0.23.0", "310P3-Duo", None, ""),
        # vllm-ascend 14339 and 17338, repaired by 14336
        (QWEN35_27B, CACHED, "0.23.0", "310P3-Duo", "fail", "remove --enable-prefix-caching, or take vllm-ascend 0.23.0.post1"),
        (QWEN35_27B, CACHED, "0.23.0.post1", "310P3-Duo", None, ""),
        (QWEN35_27B, CACHED, "0.26.0rc1", "310P3-Duo", "warn", "or take vllm-ascend 0.27.1rc1"),
        (QWEN35_27B, CACHED, "0.27.1rc1", "310P3-Duo", None, ""),
        (QWEN35_27B, MTP, "0.23.0", "310P3-Duo", None, ""),
        (QWEN35_27B, {**CACHED, "no_enable_prefix_caching": ""}, "0.23.0", "310P3-Duo", None, ""),
        (QWEN35_27B, {**STATE, "enable_prefix_caching": ""}, "0.23.0", "310P3-Duo", None, ""),
        # vLLM 43559 and 53912; 0.28.0 caches prefixes of these models unless it is told not to
        (QWEN35_27B, CACHED, "0.23.0", "910B3", "warn", "vLLM issues 43559 and 53912"),
        (QWEN35_27B, MTP, "0.26.0rc1", "910B3", None, ""),
        (QWEN35_27B, MTP, "0.30.0rc2", "910B3", "warn", "pass --no-enable-prefix-caching"),
        (QWEN35_27B, {**MTP, "no_enable_prefix_caching": ""}, "0.30.0rc2", "910B3", None, ""),
        (folders.QWEN3, CACHED, "0.23.0", "910B3", None, ""),
        # vllm-ascend 15362, 15409, 15417, 15492
        (V4, COPIES, "0.23.0", "910C", "warn", "remove --data-parallel-size, or take vllm-ascend 0.23.0.post1"),
        (V4, COPIES, "0.25.1rc1", "910C", "warn", "vllm-ascend issue 15417"),
        (V4, COPIES, "0.23.0.post1", "910C", None, ""),
        (V4, COPIES, "0.26.0rc1", "910C", None, ""),
        (V4, TWO, "0.23.0", "910C", None, ""),
        (QWEN3_30B, COPIES, "0.23.0", "910C", None, ""),
        # known issues of 0.23.0; one device has the whole vocabulary
        (folders.QWEN3, REDUCED, "0.23.0", "910B3", "warn", "remove --additional-config.enable_reduce_sample"),
        (folders.QWEN3, {**REDUCED, "tensor_parallel_size": "1"}, "0.23.0", "910B3", None, ""),
        (folders.QWEN3, {**TWO, "additional_config": '{"enable_reduce_sample": false}'}, "0.23.0", "910B3", None, ""),
        (folders.QWEN3, {"kv_transfer_config": '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'}, "0.23.0", "910B3", "warn", "remove --kv-transfer-config"),
        (folders.QWEN3, {"kv_transfer_config": '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'}, "0.23.0", "910B3", None, ""),
        # FlashComm1 splits a prompt over the devices of tensor parallelism
        (folders.QWEN3, FLASH, "0.23.0", "910B3", "fail", "only supported when tp_size > 1"),
        (folders.QWEN3, FLASH, "0.30.0rc2", "910B3", None, ""),
        (folders.QWEN3, {**FLASH, **TWO}, "0.23.0", "910B3", None, ""),
        (folders.QWEN3, {"additional_config": '{"enable_flashcomm1": false}'}, "0.23.0", "910B3", None, ""),
        (QWEN3_30B, {**FLASH, **TWO}, "0.23.0", "910B3", "fail", "pass --enable-expert-parallel"),
        (QWEN3_30B, {**FLASH, **PARALLEL}, "0.23.0", "910B3", None, ""),
        # vllm-ascend 16446: each of the three alone is harmless
        (QWEN3_30B, STREAM, "0.28.0rc1", "910B3", "warn", "vllm-ascend issue 16446"),
        (QWEN3_30B, {**STREAM, **TWO, "data_parallel_size": "1"}, "0.28.0rc1", "910B3", None, ""),
        (QWEN3_30B, {**STREAM, "additional_config": '{"enable_flashcomm1": true}'}, "0.28.0rc1", "910B3", None, ""),
        (QWEN3_30B, {**STREAM, "additional_config": '{"multistream_overlap_shared_expert": true}'}, "0.28.0rc1", "910B3", None, ""),
    ],
)  # fmt: skip
def test_options_on(
    config: dict, options: dict, row: str, npu: str, outcome: str | None, says: str, tmp_path: Path
) -> None:
    launch = replace(plan(dtype="float16", **options), stack=row)
    results = judge(model(tmp_path / "w", config), plan=launch, npu=npu, npus=2)
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert says in said(results, CHECK)


def test_an_option_that_is_a_variable(tmp_path: Path) -> None:
    launch = plan(**{**STREAM, "additional_config": '{"multistream_overlap_shared_expert": true}'})
    assert launch.server is not None
    server = replace(launch.server, env={"VLLM_ASCEND_ENABLE_FLASHCOMM1": "1"})
    results = judge(
        model(tmp_path / "w", QWEN3_30B), plan=replace(launch, server=server, stack="0.28.0rc1")
    )
    assert findings(results) == {CHECK: "warn"}, said(results, CHECK)


@pytest.mark.parametrize(
    ("options", "row", "outcome"),
    [
        ({}, "0.23.0.post1", "fail"),
        ({"compilation_config": '{"cudagraph_mode": "PIECEWISE"}'}, "0.12.0rc1", "fail"),
        ({"compilation_config": '{"cudagraph_mode": "NONE", "cache_dir": "<unresolved: X>"}'}, "0.23.0", None),
        ({"compilation_config.mode": "1"}, "0.23.0", None),
        ({"enforce_eager": ""}, "0.23.0.post1", None),
        ({"compilation_config.cudagraph_mode": "NONE"}, "0.23.0.post1", None),
        ({"compilation_config": '{"cudagraph_mode": 0}'}, "0.23.0.post1", None),
        ({"optimization_level": "0"}, "0.23.0.post1", None),
        ({}, "0.29.0rc1", None),
    ],
)  # fmt: skip
def test_calls_that_wait_and_graphs(
    options: dict, row: str, outcome: str | None, tmp_path: Path
) -> None:
    launch = plan(**options)
    assert launch.server is not None
    server = replace(launch.server, env={"ASCEND_LAUNCH_BLOCKING": "1"})
    results = judge(model(tmp_path / "w"), plan=replace(launch, server=server, stack=row))
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert outcome is None or "unset ASCEND_LAUNCH_BLOCKING" in said(results, CHECK)


def test_a_producer_beside_its_consumer(tmp_path: Path) -> None:
    launch = plan(kv_transfer_config='{"kv_role": "kv_producer"}')
    pair = replace(launch, servers=launch.servers * 2)
    assert findings(judge(model(tmp_path / "w"), plan=pair)) == {}


def test_the_repair_names_the_key_of_adapter_toml(tmp_path: Path) -> None:
    launch = replace(plan(**PARALLEL), settings="# a\nenable_expert_parallel = true\n")
    results = judge(model(tmp_path / "w", QWEN3_30B), plan=launch, npu="310P3-Duo")
    assert "remove enable_expert_parallel from adapter.toml:2" in said(results, CHECK)


@pytest.mark.parametrize(
    "facts",
    [
        {"npu": "310P3"},
        {"plan": plan(), "npu": "910A"},
        {"plan": plan(engine="mindie"), "npu": "310P3"},
    ],
)
def test_where_no_rule_applies(facts: dict, tmp_path: Path) -> None:
    assert judge(model(tmp_path / "w"), **facts)[CHECK].outcome.value == "skip"
