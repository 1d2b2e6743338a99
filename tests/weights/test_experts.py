"""Data parallelism with expert parallelism: routed experts are divided by both sizes, all else is replicated.

Configurations are the published ones; file sizes are those of the published weights, rounded. The layouts are those of
vllm-ascend's tutorials for one machine with 16 dies of 64 GB.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from healthcheck.stages.weights.fit.experts import estimated_bytes, expert_parameters
from tests.weights import folders
from tests.weights.folders import findings, model, plan, said

CHECK = "plan/fits-hardware"
judge = partial(folders.judge, only=CHECK)
DEEPSEEK_V3 = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "torch_dtype": "bfloat16",
    "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
    "kv_lora_rank": 512, "qk_rope_head_dim": 64, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "first_k_dense_replace": 3, "moe_layer_freq": 1, "max_position_embeddings": 163840,
    "vocab_size": 129280,
}  # fmt: skip
DEEPSEEK_V32 = {
    **DEEPSEEK_V3, "architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "index_head_dim": 128,
}  # fmt: skip
DEEPSEEK_V4_FLASH = {
    "architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4", "torch_dtype": "bfloat16",
    "hidden_size": 4096, "num_hidden_layers": 43, "num_attention_heads": 64, "num_key_value_heads": 1,
    "head_dim": 512, "moe_intermediate_size": 2048, "n_routed_experts": 256, "sliding_window": 128,
    "max_position_embeddings": 1048576, "vocab_size": 129280,
}  # fmt: skip
KIMI_K25 = {
    "architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25",
    "text_config": {
        **DEEPSEEK_V3, "num_attention_heads": 64, "num_key_value_heads": 64, "n_routed_experts": 384,
        "first_k_dense_replace": 1, "max_position_embeddings": 262144, "vocab_size": 163840,
    },
}  # fmt: skip
QWEN3_VL_235B = {
    "architectures": ["Qwen3VLMoeForConditionalGeneration"], "model_type": "qwen3_vl_moe",
    "text_config": {
        "model_type": "qwen3_vl_moe_text", "torch_dtype": "bfloat16", "hidden_size": 4096, "num_hidden_layers": 94,
        "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288,
        "moe_intermediate_size": 1536, "num_experts": 128, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "max_position_embeddings": 262144, "vocab_size": 151936,
    },
}  # fmt: skip
MINIMAX_M3 = {
    "architectures": ["MiniMaxM3SparseForConditionalGeneration"], "model_type": "minimax_m3_vl",
    "text_config": {
        "torch_dtype": "bfloat16", "hidden_size": 6144, "num_hidden_layers": 60, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 3072, "num_local_experts": 128,
        "moe_layer_freq": [0] * 3 + [1] * 57, "sparse_attention_config": {"sparse_index_dim": 128},
        "max_position_embeddings": 1048576, "vocab_size": 200064,
    },
}  # fmt: skip
QWEN3_30B = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "torch_dtype": "bfloat16",
    "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4,
    "head_dim": 128, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
    "decoder_sparse_step": 1, "mlp_only_layers": [], "max_position_embeddings": 40960, "vocab_size": 151936,
}  # fmt: skip

# (configuration, gigabytes, number format, tensor, data, --max-model-len, utilization, kind, devices)
DOCUMENTED = {
    "DeepSeek-R1-W8A8": (DEEPSEEK_V3, 690, "I8", 4, 4, "16384", "0.92", "910C", 16),
    "DeepSeek-V3.1-W8A8": (DEEPSEEK_V3, 690, "I8", 4, 4, "16384", "0.92", "910C", 16),
    "DeepSeek-V3.2-W8A8": (DEEPSEEK_V32, 690, "I8", 8, 2, "8192", "0.92", "910C", 16),
    "DeepSeek-V4-Flash-W8A8": (DEEPSEEK_V4_FLASH, 300, "I8", 4, 4, "1048576", "0.9", "910C", 16),
    "Kimi-K2.5-W4A8": (KIMI_K25, 555, "I8", 4, 4, "32768", "0.9", "910C", 16),
    "MiniMax-M3-W8A8": (MINIMAX_M3, 443, "I8", 4, 4, "131072", "0.92", "910C", 16),
    "Qwen3-VL-235B": (QWEN3_VL_235B, 471, "BF16", 8, 2, "32768", "0.9", "910C", 16),
    "Qwen3-30B-A3B": (QWEN3_30B, 61, "BF16", 1, 2, "40960", "0.9", "910B3", 2),
}
WIDTH = {"I8": 1, "BF16": 2}


def tensors(config: dict, gigabytes: int, dtype: str, *, named: bool) -> dict:
    """Tensors of that size in all; named as vLLM's models name them, or one that says nothing."""
    total = gigabytes * 10**9
    if not named:
        return {"all": (dtype, (total // WIDTH[dtype],))}
    routed = estimated_bytes(config.get("text_config", config), total)
    return {
        "model.layers.4.mlp.experts.0.gate_proj.weight": (dtype, (routed // WIDTH[dtype],)),
        "model.layers.4.mlp.shared_experts.gate_proj.weight": (
            dtype,
            ((total - routed) // WIDTH[dtype],),
        ),
    }


@pytest.mark.parametrize("named", [True, False], ids=["tensor names", "configuration alone"])
@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_layout_fits(name: str, named: bool, tmp_path: Path) -> None:
    config, gigabytes, dtype, tensor, data, context, utilization, npu, npus = DOCUMENTED[name]
    folder = model(tmp_path / "w", config, tensors(config, gigabytes, dtype, named=named))
    launch = plan(
        tensor_parallel_size=str(tensor), data_parallel_size=str(data), enable_expert_parallel="",
        max_model_len=context, gpu_memory_utilization=utilization,
    )  # fmt: skip
    results = judge(folder, plan=launch, npu=npu, npus=npus)
    assert CHECK not in findings(results), said(results, CHECK)
    assert "fits: weights" in said(results, CHECK)


@pytest.mark.parametrize(
    ("name", "tensor", "data", "npu", "npus", "options", "says"),
    [
        # 654 GB of experts over 8 dies: 76 GiB each
        ("DeepSeek-R1-W8A8", 4, 2, "910C", 8, {"enable_expert_parallel": ""}, "of weights on each of 8 devices"),
        # BF16 on eight cards of 64 GB: 454 GB of experts are 53 GiB each
        ("Qwen3-VL-235B", 4, 2, "910B3", 8, {"enable_expert_parallel": ""}, "of weights on each of 8 devices"),
        ("Qwen3-30B-A3B", 1, 2, "910B4", 2, {"enable_expert_parallel": ""}, "of weights on each of 2 devices"),
        ("Qwen3-30B-A3B", 1, 2, "910B3", 2, {}, "56.8 GiB of weights"),
        ("Qwen3-30B-A3B", 1, 2, "910B3", 2, {}, "pass --enable-expert-parallel"),
        ("Qwen3-30B-A3B", 1, 2, "910B4", 2, {}, "this model needs 4 NPUs like a 910B4"),
        ("DeepSeek-V3.2-W8A8", 8, 4, "910C", 16, {"enable_expert_parallel": ""}, "at most --npus 16"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("named", [True, False], ids=["tensor names", "configuration alone"])
def test_what_does_not_fit_still_fails(
    name: str,
    tensor: int,
    data: int,
    npu: str,
    npus: int,
    options: dict,
    says: str,
    named: bool,
    tmp_path: Path,
) -> None:
    config, gigabytes, dtype, *_ = DOCUMENTED[name]
    folder = model(tmp_path / "w", config, tensors(config, gigabytes, dtype, named=named))
    launch = plan(tensor_parallel_size=str(tensor), data_parallel_size=str(data), **options)
    results = judge(folder, plan=launch, npu=npu, npus=npus)
    assert findings(results).get(CHECK) == "fail"
    assert says in said(results, CHECK)


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        # 58 layers × 256 experts × 3 × 7168 × 2048
        (DEEPSEEK_V3, 653_908_770_816),
        # 57 of 60 layers × 128 × 3 × 6144 × 3072
        (MINIMAX_M3["text_config"], 413_122_166_784),
        # 48 × 128 × 3 × 2048 × 768
        (QWEN3_30B, 28_991_029_248),
        # every second of 24 layers, two of those dense: 10 × 64 × 3 × 1024 × 512
        ({"hidden_size": 1024, "num_hidden_layers": 24, "num_experts": 64, "moe_intermediate_size": 512,
          "decoder_sparse_step": 2, "mlp_only_layers": [1, 3]}, 1_006_632_960),
        ({"hidden_size": 1024, "num_hidden_layers": 2, "num_experts": 8, "moe_intermediate_size": 512,
          "mlp_layer_types": ["dense", "moe"]}, 12_582_912),
        (folders.QWEN3, 0),
        ({"num_experts": 8}, 0),
    ],
)  # fmt: skip
def test_expert_parameters_of_a_configuration(config: dict, parameters: int) -> None:
    assert expert_parameters(config) == parameters


def test_experts_are_never_larger_than_the_files() -> None:
    assert estimated_bytes(QWEN3_30B, 61 * 10**9) == 57_982_058_496
    assert estimated_bytes(QWEN3_30B, 32 * 10**9) == 28_991_029_248
    assert estimated_bytes(QWEN3_30B, 10**9) == 0
