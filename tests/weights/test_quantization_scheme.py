"""weights/quantization-scheme: what real weights name, against what vllm-ascend's releases register.

Each quantization_config is the published one of the model that the case is named after.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.weights import folders
from tests.weights.folders import QWEN3, findings, model, plan, said, write_json
from tests.weights.test_experts import DEEPSEEK_V3, DEEPSEEK_V4_FLASH, KIMI_K25, QWEN3_30B

CHECK = "weights/quantization-scheme"
judge = partial(folders.judge, only=CHECK)
LINEAR = "model.layers.0.self_attn.q_proj.weight"
EXPERT = "model.layers.4.mlp.experts.0.gate_proj.weight"
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 4096,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072,
}  # fmt: skip
FP8 = {
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "quant_method": "fp8",
    "weight_block_size": [128, 128],
}
MINIMAX = {
    **LLAMA,
    "architectures": ["MiniMaxM2ForCausalLM"],
    "model_type": "minimax_m2",
    "num_local_experts": 256,
}
FP8_OF_V4 = {**FP8, "scale_fmt": "ue8m0"}


def arguments(bits: int, strategy: str, **others: object) -> dict:
    defaults = {
        "actorder": None,
        "block_structure": None,
        "dynamic": False,
        "group_size": None,
        "symmetric": True,
    }
    return {**defaults, "num_bits": bits, "strategy": strategy, "type": "int", **others}


def compressed(kind: str, weights: dict, activations: dict | None, targets: str = "Linear") -> dict:
    group = {
        "weights": weights,
        "input_activations": activations,
        "output_activations": None,
        "targets": [targets],
    }
    return {
        "quant_method": "compressed-tensors", "format": kind, "config_groups": {"group_0": group},
        "ignore": ["lm_head"], "kv_cache_scheme": None, "quantization_status": "compressed",
    }  # fmt: skip


FOUR_BITS = arguments(4, "group", group_size=128)
W4A16 = compressed("pack-quantized", FOUR_BITS, None)
INT8 = compressed("int-quantized", arguments(8, "channel"), arguments(8, "token", dynamic=True))
FP8_DYNAMIC = compressed(
    "float-quantized",
    arguments(8, "channel", type="float"),
    arguments(8, "token", type="float", dynamic=True),
)
FP8_STATIC = compressed(
    "float-quantized", arguments(8, "tensor", type="float"), arguments(8, "tensor", type="float")
)
NVFP4 = compressed(
    "nvfp4-pack-quantized",
    arguments(4, "tensor_group", type="float", group_size=16),
    arguments(4, "tensor_group", type="float", group_size=16, dynamic="local"),
)


def published(folder: Path, config: dict, quantization: dict, packed: str = "") -> Path:
    """Weights with this quantization_config; `packed` is the layer that is quantised."""
    tensors = {packed.replace(".weight", ".weight_packed"): ("I32", (8, 8))} if packed else None
    return model(folder, {**config, "quantization_config": quantization}, tensors)


def modelslim(folder: Path, config: dict, **layers: str) -> Path:
    named = {
        "linear": LINEAR,
        "expert": EXPERT,
        "norm": "model.norm.weight",
        "draft": "mtp.layers.0.q_proj.weight",
    }
    described = {named[kind]: scheme for kind, scheme in layers.items()}
    write_json(
        model(folder, config) / "quant_model_description.json",
        {"model_quant_type": "W8A8", "lm_head.weight": "FLOAT", **described},
    )
    return folder


W4A8 = compressed(
    "int-quantized", arguments(4, "group", group_size=128), arguments(8, "token", dynamic=True)
)
FAIL, OPEN, NONE = "fail", "skip", None
CASES = {
    "Qwen3-8B-FP8 on a 910B": (
        partial(published, config=QWEN3, quantization=FP8), "0.23.0", "910B3", FAIL, "o_groups",
    ),
    "Qwen3-8B-FP8 on a 950": (
        partial(published, config=QWEN3, quantization=FP8), "0.23.0", "950DT", FAIL, "AttributeError",
    ),
    "Qwen3-8B-FP8 on a 910B, expanded": (
        partial(published, config=QWEN3, quantization=FP8), "0.27.1rc1", "910B3", NONE, "",
    ),
    "Qwen3-30B-A3B-FP8 on an A3, expanded": (
        partial(published, config=QWEN3_30B, quantization=FP8), "0.30.0rc2", "A3", NONE, "",
    ),
    "Qwen3-8B-FP8 on a 310P": (
        partial(published, config=QWEN3, quantization=FP8), "0.27.1rc1", "310P3-Duo", FAIL, "ModelSlim's weights alone",
    ),
    "FP8 with one scale for a tensor": (
        partial(published, config=LLAMA, quantization={"quant_method": "fp8", "activation_scheme": "static"}),
        "0.27.1rc1", "950PR", FAIL, "no weight_block_size",
    ),
    "FP8 with static activations": (
        partial(published, config=LLAMA, quantization={**FP8, "activation_scheme": "static"}),
        "0.30.0rc1", "910B3", FAIL, "dynamic activations",
    ),
    "MiniMax-M3-MXFP8 on a 950": (
        partial(published, config=QWEN3_30B, quantization={"quant_method": "mxfp8"}), "0.27.1rc1", "950DT", NONE, "",
    ),
    "MiniMax-M3-MXFP8 on an A3": (
        partial(published, config=QWEN3_30B, quantization={"quant_method": "mxfp8"}), "0.27.1rc1", "A3", FAIL,
        "on a 950 alone",
    ),
    "DeepSeek-V4-Flash as published, in the newest release": (
        partial(published, config={**DEEPSEEK_V4_FLASH, "o_groups": 8, "o_lora_rank": 1024}, quantization=FP8_OF_V4),
        "0.30.0rc2", "950PR", NONE, "",
    ),
    "Llama-3.1-8B-FP8 in an old release": (
        partial(published, config=LLAMA, quantization=FP8), "0.21.0rc1", "910B4", FAIL,
        "use vllm-ascend 0.27.1rc1 or newer",
    ),
    "MiniMax-M2 as published, before FP8 was a method": (
        partial(published, config=MINIMAX, quantization=FP8), "0.20.2rc1", "A3", NONE, "into 16 bits",
    ),
    "MiniMax-M2 as published, found to be FP8 again": (
        partial(published, config=MINIMAX, quantization=FP8), "0.21.0rc1", "A3", FAIL,
        "use vllm-ascend 0.23.0, 0.23.0.post1, or submit",
    ),
    "MiniMax-M2 as published, found to be FP8 on a 950 alone": (
        partial(published, config=MINIMAX, quantization=FP8), "0.23.0", "910B3", NONE, "into 16 bits",
    ),
    "MiniMax-M2 as published, on a 950": (
        partial(published, config=MINIMAX, quantization=FP8), "0.23.0", "950DT", FAIL, "o_groups",
    ),
    "MiniMax-M2 as published, with FP8 in blocks": (
        partial(published, config=MINIMAX, quantization=FP8), "0.30.0rc2", "A3", OPEN, "16569",
    ),
    "DeepSeek-V3.1 as published": (
        partial(published, config=DEEPSEEK_V3, quantization=FP8), "0.23.0", "A3", FAIL, "o_groups",
    ),
    "DeepSeek-V4-Flash as published, on an A3": (
        partial(published, config={**DEEPSEEK_V4_FLASH, "o_groups": 8, "o_lora_rank": 1024}, quantization=FP8_OF_V4),
        "0.23.0", "A3", FAIL, "serve these weights on a 950",
    ),
    "DeepSeek-V4-Flash as published, on a 950": (
        partial(published, config={**DEEPSEEK_V4_FLASH, "o_groups": 8, "o_lora_rank": 1024}, quantization=FP8_OF_V4),
        "0.23.0", "950DT", NONE, "",
    ),
    "Qwen3-8B-quantized.w4a16": (
        partial(published, config=QWEN3, quantization=W4A16, packed=LINEAR), "0.23.0", "910B3", FAIL,
        "no W4A16 for linear layers",
    ),
    "Qwen3-30B-A3B-quantized.w4a16, attention too": (
        partial(published, config=QWEN3_30B, quantization=W4A16), "0.23.0", "910B3", FAIL, "linear layers",
    ),
    "Kimi-K2-Thinking, experts alone": (
        partial(published, config=KIMI_K25, quantization=W4A16, packed=EXPERT), "0.23.0", "A3", NONE, "",
    ),
    "Llama-3.1-8B-quantized.w8a8": (
        partial(published, config=LLAMA, quantization=INT8), "0.13.0", "910B3", NONE, "",
    ),
    "Llama-3.1-8B-quantized.w8a8 on a 310P": (
        partial(published, config=LLAMA, quantization=INT8), "0.23.0", "310P3-Duo", FAIL, "ModelSlim's weights alone",
    ),
    "Llama-3.1-8B-FP8-dynamic on a 910B": (
        partial(published, config=LLAMA, quantization=FP8_DYNAMIC), "0.23.0", "910B3", FAIL, "on a 950 alone",
    ),
    "Llama-3.1-8B-FP8-dynamic on a 950": (
        partial(published, config=LLAMA, quantization=FP8_DYNAMIC), "0.23.0", "950PR", NONE, "",
    ),
    "Llama-3.1-8B-FP8-dynamic before FP8": (
        partial(published, config=LLAMA, quantization=FP8_DYNAMIC), "0.18.0", "950PR", FAIL, "no scheme",
    ),
    "Llama-3.1-8B-FP8": (
        partial(published, config=LLAMA, quantization=FP8_STATIC), "0.23.0", "950PR", FAIL, "8 bits float by tensor",
    ),
    "int4 in groups with int8": (
        partial(published, config=QWEN3, quantization=W4A8, packed=LINEAR), "0.23.0", "910B3", NONE, "",
    ),
    "int4 in groups before it was there": (
        partial(published, config=QWEN3, quantization=W4A8, packed=LINEAR), "0.13.0", "910B3", FAIL, "no scheme",
    ),
    "int4 in groups, no longer there": (
        partial(published, config=QWEN3, quantization=W4A8, packed=LINEAR), "0.27.1rc1", "910B3", FAIL, "no scheme",
    ),
    "Llama-3.1-8B-NVFP4": (
        partial(published, config=LLAMA, quantization=NVFP4), "0.23.0", "950PR", FAIL, "no scheme for these numbers",
    ),
    "W8A8 of ModelSlim": (
        partial(modelslim, config=QWEN3, linear="W8A8"), "0.9.1", "910B4", NONE, "",
    ),
    "W8A8 of ModelSlim in a mixture of experts": (
        partial(modelslim, config=QWEN3_30B, linear="W8A8", expert="W8A8_DYNAMIC"), "0.23.0", "910B4", NONE, "",
    ),
    "static W8A8 for experts": (
        partial(modelslim, config=QWEN3_30B, linear="W8A8", expert="W8A8"), "0.23.0", "910B4", FAIL,
        f'"{EXPERT}": "W8A8": the release has no W8A8 for routed experts',
    ),
    "MXFP8 on a 910B": (
        partial(modelslim, config=QWEN3, linear="W8A8_MXFP8"), "0.23.0", "910B3", FAIL, "serve these weights on a 950",
    ),
    "MXFP8 on an A3": (
        partial(modelslim, config=QWEN3, linear="W8A8_MXFP8"), "0.23.0", "A3", FAIL, "on a 950 alone",
    ),
    "MXFP8 on a 950": (
        partial(modelslim, config=QWEN3, linear="W8A8_MXFP8"), "0.23.0", "950DT", NONE, "",
    ),
    "MXFP4 on a 910B": (
        partial(modelslim, config=QWEN3, linear="W4A4_MXFP4"), "0.23.0", "910B3", FAIL, "W4A4_MXFP4",
    ),
    "MXFP4 on a 950 before it was there": (
        partial(modelslim, config=QWEN3, linear="W4A4_MXFP4"), "0.15.0rc1", "950DT", FAIL, "or newer",
    ),
    "W8A8SC on a 310P": (
        partial(modelslim, config=QWEN3, linear="W8A8SC"), "0.23.0", "310P3-Duo", NONE, "",
    ),
    "W8A8SC on a 910B": (
        partial(modelslim, config=QWEN3, linear="W8A8SC"), "0.23.0", "910B3", FAIL, "for linear layers on this chip",
    ),
    "W4A8 on a 310P": (
        partial(modelslim, config=QWEN3, linear="W4A8_DYNAMIC"), "0.23.0", "310P3", FAIL, "for linear layers on this chip",
    ),
    "a norm and a draft in another scheme": (
        partial(modelslim, config=QWEN3, linear="W8A8", norm="W8A8_MXFP8", draft="W8A8_MXFP8"), "0.23.0", "910B3",
        NONE, "",
    ),
    "a release that left schemes to another package": (
        partial(modelslim, config=QWEN3, linear="W8A8"), "0.7.3", "910B3", OPEN, "a catalogue of the schemes",
    ),
    "no chip named, a format of the 950": (
        partial(modelslim, config=QWEN3, linear="W8A8_MXFP8"), "0.18.0", None, "warn", "on a 910B3",
    ),
    "no chip and no row named": (
        partial(published, config=QWEN3, quantization=FP8), "", None, "warn", "o_groups",
    ),
    "no chip and no row named, a scheme of no release": (
        partial(published, config=QWEN3, quantization=W4A16, packed=LINEAR), "", None, FAIL, "no W4A16 for linear layers",
    ),
    "no chip named, a scheme of no chip": (
        partial(modelslim, config=QWEN3, linear="W2A2"), "0.18.0", None, FAIL, "W2A2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_schemes_of(name: str, tmp_path: Path) -> None:
    make, row, npu, outcome, says = CASES[name]
    results = judge(make(tmp_path / "w"), plan=replace(plan(), stack=row), npu=npu, npus=1)
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert says in said(results, CHECK)


def test_groups_whose_layers_are_not_known_leave_the_verdict_open(tmp_path: Path) -> None:
    quantization = compressed("pack-quantized", FOUR_BITS, None, targets="re:.*layers.*")
    eight = {
        **INT8["config_groups"]["group_0"],
        "format": "int-quantized",
        "targets": ["re:.*self_attn.*"],
    }
    quantization["config_groups"]["group_1"] = eight
    results = judge(published(tmp_path / "w", QWEN3_30B, quantization), npu="910B3")
    assert findings(results)[CHECK] == OPEN
    assert not results[CHECK].settled


def test_groups_by_name_are_judged_apart(tmp_path: Path) -> None:
    eight = {
        **INT8["config_groups"]["group_0"],
        "format": "int-quantized",
        "targets": ["re:.*self_attn.*"],
    }
    quantization = compressed("pack-quantized", FOUR_BITS, None, targets="re:.*mlp.experts.*")
    quantization["config_groups"]["group_1"] = eight
    assert CHECK not in findings(
        judge(published(tmp_path / "w", QWEN3_30B, quantization), npu="910B3")
    )


def test_a_description_that_is_no_json_fails(tmp_path: Path) -> None:
    folder = modelslim(tmp_path / "w", QWEN3, linear="W8A8")
    (folder / "quant_model_description.json").write_text('{"model.layers')
    assert findings(judge(folder, npu="910B3"))[CHECK] == FAIL


def test_thousands_of_schemes_make_a_few_findings(tmp_path: Path) -> None:
    folder = modelslim(tmp_path / "w", QWEN3)
    described = {f"model.layers.{number}.q_proj.weight": f"W{number}" for number in range(5_000)}
    write_json(folder / "quant_model_description.json", described)
    assert 0 < len(judge(folder, npu="910B3")[CHECK].findings) < 50


@pytest.mark.parametrize("facts", [{"plan": plan(engine="sglang")}, {"npu": "910A"}])
def test_where_there_is_nothing_to_judge(facts: dict, tmp_path: Path) -> None:
    folder = modelslim(tmp_path / "w", QWEN3, linear="W8A8_MXFP8")
    assert judge(folder, **facts)[CHECK].outcome.value == "skip"
    assert judge(folder, **facts)[CHECK].settled
