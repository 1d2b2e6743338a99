"""Memory of real models, reckoned by hand from their published configurations."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from healthcheck.stages.weights.fit.memory import (
    Layout,
    cache_per_sequence,
    longest_sequence,
    read_shape,
    weights_per_device,
)
from tests.weights import folders
from tests.weights.folders import QWEN3, findings, model, plan, said

judge = partial(folders.judge, only="plan/fits-hardware")
LLAMA_8B = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
            "max_position_embeddings": 131072, "vocab_size": 128256}  # fmt: skip
LLAMA2_7B = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
}
QWEN25_72B = {"hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
              "sliding_window": 131072, "use_sliding_window": False, "max_window_layers": 80}  # fmt: skip
DEEPSEEK_V3 = {"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
               "num_key_value_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64}  # fmt: skip
DEEPSEEK_V32 = {**DEEPSEEK_V3, "model_type": "deepseek_v32", "index_head_dim": 128}
MINIMAX_M3 = {"model_type": "minimax_m3", "hidden_size": 6144, "num_hidden_layers": 60, "num_attention_heads": 64,
              "num_key_value_heads": 4, "head_dim": 128, "sparse_attention_config": {"sparse_index_dim": 128}}  # fmt: skip
GEMMA3_27B = {"model_type": "gemma3_text", "hidden_size": 5376, "num_hidden_layers": 62, "num_attention_heads": 32,
              "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024, "sliding_window_pattern": 6}  # fmt: skip
MISTRAL_V01 = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
               "sliding_window": 4096}  # fmt: skip
QWEN3_NEXT = {"hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
              "head_dim": 256, "full_attention_interval": 4}  # fmt: skip
FALCON_7B = {
    "hidden_size": 4544,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "multi_query": True,
}
CHATGLM = {"hidden_size": 4096, "num_layers": 40, "num_attention_heads": 32, "kv_channels": 128,
           "multi_query_attention": True, "multi_query_group_num": 2, "seq_length": 131072}  # fmt: skip
JAMBA = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "attn_layer_period": 8, "attn_layer_offset": 4}  # fmt: skip

# (configuration, tokens, tensor parallel size, bytes on a device); 2 bytes a number
BY_HAND = {
    # 2 × 32 layers × 8 heads × 128 × 2 bytes = 131,072 bytes a token
    "Llama-3.1-8B": (LLAMA_8B, 131072, 1, 131_072 * 131_072),
    "Llama-3.1-8B on 4": (LLAMA_8B, 131072, 4, 131_072 * 131_072 // 4),
    # no num_key_value_heads: as many as attention heads; 524,288 bytes a token
    "Llama-2-7B": (LLAMA2_7B, 4096, 1, 2_147_483_648),
    # 2 × 36 × 8 × 128 × 2 = 147,456
    "Qwen3-8B": (QWEN3, 40960, 1, 6_039_797_760),
    # use_sliding_window false: 2 × 80 × 8 × 128 × 2 = 327,680; on 8 devices one head each, on 16 still one
    "Qwen2.5-72B": (QWEN25_72B, 32768, 1, 10_737_418_240),
    "Qwen2.5-72B on 8": (QWEN25_72B, 32768, 8, 1_342_177_280),
    "Qwen2.5-72B on 16": (QWEN25_72B, 32768, 16, 1_342_177_280),
    # 61 × (512 + 64) × 2 = 70,272 bytes a token, on every device
    "DeepSeek-V3": (DEEPSEEK_V3, 8192, 1, 575_668_224),
    "DeepSeek-V3 on 8": (DEEPSEEK_V3, 8192, 8, 575_668_224),
    # and the index of sparse attention: 61 × (512 + 64 + 128) × 2 = 85,888
    "DeepSeek-V3.2 on 8": (DEEPSEEK_V32, 8192, 8, 703_594_496),
    # 60 × (2 × 4 × 128 + 128) × 2 = 138,240; on 4 devices one head each and the whole index: 46,080
    "MiniMax-M3": (MINIMAX_M3, 8192, 1, 1_132_462_080),
    "MiniMax-M3 on 4": (MINIMAX_M3, 8192, 4, 377_487_360),
    # every sixth of 62 layers is full: 10; the 52 others hold 1,024 tokens; 2 × 16 × 128 × 2 = 8,192 bytes a layer
    "Gemma-3-27B": (GEMMA3_27B, 32768, 1, (10 * 32768 + 52 * 1024) * 8192),
    "Mistral-7B-v0.1": (MISTRAL_V01, 32768, 1, 4096 * 131_072),
    # 12 of 48 layers have a cache: 12 × 2 × 2 × 256 × 2 = 24,576
    "Qwen3-Next-80B": (QWEN3_NEXT, 1000, 1, 24_576_000),
    # one key-value head: 2 × 32 × 64 × 2 = 8,192
    "Falcon-7B": (FALCON_7B, 2048, 1, 16_777_216),
    # 2 × 40 × 2 × 128 × 2 = 40,960
    "GLM-4-9B": (CHATGLM, 1000, 1, 40_960_000),
    # layers 4, 12, 20, 28: 4 × 2 × 8 × 128 × 2 = 16,384
    "Jamba": (JAMBA, 1000, 1, 16_384_000),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_the_cache_of_a_real_model(name: str) -> None:
    config, tokens, tensor, expected = BY_HAND[name]
    shape = read_shape(config)
    assert shape is not None
    assert cache_per_sequence(shape, tokens, Layout(tensor=tensor)) == expected


def test_a_cache_of_eight_bits_is_half_and_pipelines_share_layers() -> None:
    shape = read_shape(LLAMA_8B)
    assert shape is not None
    assert cache_per_sequence(shape, 1024, Layout(cache_number_bytes=1)) == 1024 * 65_536
    assert cache_per_sequence(shape, 1024, Layout(pipeline=2)) == 1024 * 65_536


@pytest.mark.parametrize("room", [0, 1, 131_072 * 128, 131_072 * 1000, 2**40])
def test_the_longest_sequence_fits_and_a_longer_one_does_not(room: int) -> None:
    shape = read_shape(LLAMA_8B)
    assert shape is not None
    longest = longest_sequence(shape, room, Layout(), 131072)
    assert cache_per_sequence(shape, longest, Layout()) <= room
    assert longest == 131072 or cache_per_sequence(shape, longest + 128, Layout()) > room


def test_experts_are_shared_by_data_parallel_ranks_only_where_asked() -> None:
    assert weights_per_device(100, 80, Layout(tensor=2, data=2)) == 50
    assert weights_per_device(100, 80, Layout(tensor=2, data=2, experts=True)) == 10 + 20


def large(folder: Path, size_bytes: int, **config: object) -> Path:
    scaled = {
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        }
    }
    return model(folder, {**QWEN3, **scaled, **config}, {"w": ("BF16", (size_bytes // 2,))})


@pytest.mark.parametrize(
    ("gigabytes", "options", "npu", "npus", "outcome", "says"),
    [
        # 16.4 GB of Qwen3-8B: 15.3 GiB on 29 × 0.9 = 26.1 GiB, 5.6 GiB of cache, 2 GiB of working memory
        (16.4, {}, "910B4", 1, "fail", "--max-model-len 6"),
        (16.4, {"max_model_len": "40960"}, "Ascend910B4", 1, None, "fits"),
        (16.4, {"max_model_len": "131072"}, "910B4", 1, "fail", "--max-model-len 6"),
        (16.4, {"max_model_len": "128k"}, "910B4", 2, "fail", "--max-model-len"),
        (65.5, {}, "910B3", 1, "fail", "this model needs 2 NPUs like a 910B3"),
        (65.5, {"tensor_parallel_size": "2"}, "910B3", 2, None, "fits"),
        (65.5, {"tensor_parallel_size": "4"}, "910B3", 2, "fail", "at most --npus 2"),
        (16.4, {"tensor_parallel_size": "8", "pipeline_parallel_size": "2"}, "910B4", 8, "fail", "16 needed"),
        # of six devices, 32 heads are shared by four
        (16.4, {"tensor_parallel_size": "8"}, "910B4", 6, "fail", "pass --tensor-parallel-size 4"),
        (16.4, {"tensor_parallel_size": "5"}, None, None, "fail", "32 attention heads"),
        (16.4, {"tensor_parallel_size": "16"}, None, None, None, "16 NPUs"),
        (16.4, {"max_model_len": "40960"}, None, None, None, "unknown"),
        (90.0, {}, None, None, "warn", "--tensor-parallel-size 2"),
        (16.4, {"max_model_len": "4000000"}, None, None, "fail", "pass --max-model-len 131072"),
        (16.4, {"dtype": "float16"}, "910A", 1, "fail", "vllm-ascend supports"),
        (16.4, {"quantization": "ascend"}, "910B4", 1, "fail", "quant_model_description.json"),
        (16.4, {}, "H100", 1, "warn", "910B4"),
    ],
)  # fmt: skip
def test_what_fits(
    gigabytes: float,
    options: dict,
    npu: str | None,
    npus: int | None,
    outcome: str | None,
    says: str,
    tmp_path: Path,
) -> None:
    folder = large(tmp_path / "w", int(gigabytes * 10**9))
    results = judge(folder, plan=plan(**options), npu=npu, npus=npus)
    assert findings(results).get("plan/fits-hardware") == outcome, said(
        results, "plan/fits-hardware"
    )
    assert says in said(results, "plan/fits-hardware")


def test_weights_of_32_bits_are_loaded_in_16(tmp_path: Path) -> None:
    folder = model(
        tmp_path / "w", {**QWEN3, "torch_dtype": "float32"}, {"w": ("F32", (8_000_000_000,))}
    )
    assert "weights 14.9 GiB" in said(judge(folder, npu="910B4", npus=1), "plan/fits-hardware")
    kept = judge(folder, npu="910B4", npus=1, plan=plan(dtype="float32"))
    assert "29.8 GiB of weights" in said(kept, "plan/fits-hardware")


@pytest.mark.parametrize(
    ("row", "npu", "says"),
    [("0.27.1rc1", "910B4", "weights 14.9 GiB"), ("0.30.0rc2", "A3", "weights 14.9 GiB"),
     ("0.27.1rc1", "950DT", "weights 7.5 GiB"), ("0.23.0", "910B4", "weights 7.5 GiB")],
)  # fmt: skip
def test_fp8_in_blocks_takes_16_bits_where_the_release_expands_it(
    row: str, npu: str, says: str, tmp_path: Path
) -> None:
    fp8 = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    folder = model(
        tmp_path / "w", {**QWEN3, "quantization_config": fp8}, {"w": ("F8_E4M3", (8_000_000_000,))}
    )
    results = judge(folder, npu=npu, npus=1, plan=replace(plan(), stack=row))
    assert says in said(results, "plan/fits-hardware")


@pytest.mark.parametrize(
    ("npu", "options", "outcome"),
    [("910B4", {"dtype": "float16"}, "fail"), ("910B4", {}, None), (None, {"dtype": "half"}, "warn"),
     ("910C", {"dtype": "float16"}, None)],
)  # fmt: skip
def test_w8a8_and_float16(
    npu: str | None, options: dict, outcome: str | None, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w", None, {"w": ("I8", (1000, 1000)), "n": ("BF16", (10,))})
    (folder / "quant_model_description.json").write_text(
        '{"model_quant_type": "W8A8", "w": "W8A8"}'
    )
    results = judge(folder, npu=npu, plan=plan(**options))
    assert findings(results).get("plan/fits-hardware") == outcome, said(
        results, "plan/fits-hardware"
    )


@pytest.mark.parametrize(
    ("release", "npu", "options", "outcome", "says"),
    [
        # half of what 14.9 GiB of weights and 2 GiB leave of 38.4 GiB, and the tenth beside it: 15.0 GiB, 6 bytes each
        ("0.18.0", "310P3-Duo", {"max_model_len": "51712"}, None, ""),
        ("0.18.0", "310P3-Duo", {"max_model_len": "65536"}, "warn", "pass --max-model-len 51840, or take vllm-ascend"),
        ("0.25.1rc1", "310P3-Duo", {"max_model_len": "65536"}, "warn", "24.0 GiB for 65,536 tokens"),
        # the cache takes all there
        ("0.17.0rc1", "310P3-Duo", {"max_model_len": "40960"}, "warn", "pass --max-model-len 27520"),
        ("0.17.0rc1", "310P3-Duo", {"max_model_len": "40960", "gpu_memory_utilization": "0.75"}, None, ""),
        # the operators for a small mask came with torch_npu 2.10.0.post4
        ("0.23.0.post1", "310P3-Duo", {"max_model_len": "40960"}, None, ""),
        ("0.14.0rc1", "310P3-Duo", {"max_model_len": "40960"}, None, ""),
        ("0.18.0", "910B4", {"max_model_len": "40960"}, None, ""),
    ],
)  # fmt: skip
def test_the_mask_of_a_310p(
    release: str, npu: str, options: dict, outcome: str | None, says: str, tmp_path: Path
) -> None:
    folder = large(tmp_path / "w", 16 * 10**9)
    launch = plan(dtype="float16", **{"kv_cache_dtype": "int8", **options})
    results = judge(folder, npu=npu, npus=1, plan=replace(launch, stack=release))
    assert findings(results).get("plan/fits-hardware") == outcome, said(
        results, "plan/fits-hardware"
    )
    assert says in said(results, "plan/fits-hardware")


@pytest.mark.parametrize(("release", "outcome"), [("0.23.0.post1", "fail"), ("0.17.0rc1", "warn")])
def test_the_cache_of_a_310p_gets_half_of_the_room(
    release: str, outcome: str, tmp_path: Path
) -> None:
    # 18 GiB for 131,072 tokens; 23.5 GiB are left, of which releases from 0.18.0 on give the cache half
    launch = plan(dtype="float16", max_model_len="131072")
    folder = large(tmp_path / "w", 16 * 10**9)
    results = judge(folder, npu="310P3-Duo", npus=1, plan=replace(launch, stack=release))
    assert findings(results).get("plan/fits-hardware") == outcome, said(
        results, "plan/fits-hardware"
    )


def test_an_engine_of_unknown_memory_is_not_judged(tmp_path: Path) -> None:
    results = judge(model(tmp_path / "w"), plan=plan(engine="mindie"), npu="910B4")
    assert results["plan/fits-hardware"].outcome.value == "skip"


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(("stack", "outcome"), [("0.23.0.post1", None), ("0.30.0rc2", "fail")])
def test_yarn_lengthens_the_context_until_vllm_0_30(
    stack: str, outcome: str | None, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w", {**QWEN3, "rope_scaling": YARN})
    launch = replace(plan(max_model_len="131072"), stack=stack)
    results = judge(folder, plan=launch)
    assert findings(results).get("plan/fits-hardware") == outcome
    assert outcome is None or '"max_position_embeddings": 131072' in said(
        results, "plan/fits-hardware"
    )


@pytest.mark.parametrize(
    ("config", "tokenizer", "options", "outcome"),
    [
        ({}, {}, {"max_model_len": "40960"}, None),
        ({}, {}, {"max_model_len": "40961"}, "fail"),
        ({}, {"model_max_length": 8192}, {"max_model_len": "16k"}, None),
        ({}, {"model_max_length": 10**30}, {"max_model_len": "32768"}, None),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, {}, {"max_model_len": "81920"}, "fail"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, {}, {"max_model_len": "81920"}, None),
        ({"rope_scaling": YARN}, {}, {"max_model_len": "131073"}, "fail"),
        ({"rope_scaling": YARN}, {}, {"max_model_len": "131072"}, None),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, {}, {"max_model_len": "81920"}, None),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, {}, {"max_model_len": "81921"}, "fail"),
        ({"rope_scaling": {"type": "linear", "factor": math.nan}}, {}, {"max_model_len": "40960"}, None),
        ({"rope_scaling": {"type": "linear", "factor": 1e308}}, {}, {"max_model_len": "40960"}, None),
        ({"rope_scaling": "yarn"}, {}, {"max_model_len": "40960"}, None),
        ({}, {}, {"max_model_len": "81920", "hf_overrides": "{}"}, "fail"),
        ({}, {}, {"max_model_len": "81920", "hf_overrides": json.dumps({"rope_scaling": YARN})}, None),
        ({}, {}, {"max_model_len": "999999", "hf_overrides": json.dumps({"rope_scaling": YARN})}, "fail"),
        ({}, {}, {"max_model_len": "81920", "hf_overrides": '{"max_position_embeddings": 81920}'}, None),
        ({}, {}, {"max_model_len": "81920", "hf_overrides.max_position_embeddings": "81920"}, None),
        ({}, {}, {"max_model_len": "81920", "hf_overrides": "<unresolved:by a function>"}, None),
        ({}, {}, {"max_model_len": "81920", "hf_overrides": '{"max_position_embeddings": 81920, "x": NaN}'}, None),
        ({}, {}, {"max_model_len": "40960", "hf_overrides": '{"a": "\udcff"}'}, None),
        ({}, {}, {"max_model_len": "40960", "hf_overrides": '{"a_config":' * 600 + "1" + "}" * 600}, None),
        ({"rope_scaling": YARN}, {}, {"max_model_len": "262144", "hf_overrides": json.dumps({"rope_parameters": {**YARN, "factor": 8}})}, None),
        ({}, {}, {}, None),
    ],
)  # fmt: skip
def test_a_context_beyond_the_models_own(
    config: dict, tokenizer: dict, options: dict, outcome: str | None, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w", {**QWEN3, **config})
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    assert findings(judge(folder, plan=plan(**options))).get("plan/fits-hardware") == outcome


def test_fewer_visible_devices_than_the_launch_needs(tmp_path: Path) -> None:
    launch = plan(tensor_parallel_size="4")
    server = replace(launch.server, env={"ASCEND_RT_VISIBLE_DEVICES": "0,1"})
    results = judge(model(tmp_path / "w"), plan=replace(launch, server=server))
    assert "ASCEND_RT_VISIBLE_DEVICES=0,1: 2" in said(results, "plan/fits-hardware")


@pytest.mark.process
@pytest.mark.parametrize(
    ("row", "outcome", "says"),
    [
        ("", None, "not to 0.18.0"),
        ("0.18.0", "warn", "only vLLM 0.23.0"),
        ("0.13.0", "warn", "0.13.0 is not catalogued"),
    ],
)
def test_the_registry_is_that_of_the_chosen_row(
    row: str, outcome: str | None, says: str, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w", {**QWEN3, "architectures": ["Cohere2MoeForCausalLM"]})
    results = folders.judge(folder, plan=replace(plan(), stack=row))
    assert findings(results).get("weights/config") == outcome, said(results, "weights/config")
    assert says in said(results, "weights/config")


@pytest.mark.parametrize(
    ("settings", "script", "options", "fix"),
    [
        ("", "", {"tensor_parallel_size": "5"}, "pass --tensor-parallel-size 4 (1, 2, 8, 16 divide the heads, too)"),
        ("# a\ntensor_parallel_size = 5\n", "", {"tensor_parallel_size": "5"},
         "write tensor_parallel_size = 4 in adapter.toml:2 (1, 2"),
        ("# max_model_len = 1\n", "", {"max_model_len": "40961"}, "write max_model_len = 40960 in adapter.toml:1"),
        ("\n", "", {"max_model_len": "40961"}, "pass --max-model-len 40960"),
        ('dtype = "half"\n', "", {"max_model_len": "40961"}, "write max_model_len = 40960 in adapter.toml"),
        ("tensor_parallel_size = 5\n", "vllm serve --max-model-len 40961", {"max_model_len": "40961"},
         "pass --max-model-len 40960"),
        ("tensor_parallel_size = 5\n", 'eval "set -- $(python3 -m adapter)"', {"max_model_len": "40961"},
         "write max_model_len = 40960 in adapter.toml"),
        ("tensor_parallel_size = 5\n", 'vllm serve "$MODEL_PATH" -tp 5', {"tensor_parallel_size": "5"},
         "pass --tensor-parallel-size 4 (1, 2, 8, 16 divide the heads, too)"),
        ("a = 1", "", {"quantization": "ascend"}, 'write quantization = "default" in adapter.toml, or submit ModelSlim weights'),
    ],
)  # fmt: skip
def test_a_repair_names_the_key_of_adapter_toml(
    settings: str, script: str, options: dict, fix: str, tmp_path: Path
) -> None:
    launch = replace(plan(**options), settings=settings, script=script)
    assert fix in said(judge(model(tmp_path / "w"), plan=launch), "plan/fits-hardware")
