"""What single models and chips need."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from adapter.chips import chip_called
from adapter.device import Machine
from adapter.memory import Layout, budget_of
from adapter.plan import make_plan
from adapter.settings import Setting
from adapter.weights import Attention, Weights

A2 = Machine(1, "910B3", 65536, "test")
DUO = Machine(2, "310P3", 43693, "test")
DENSE = Weights(
    path="/w", architecture="Qwen3ForCausalLM", dtype="bfloat16", context=262144, total_bytes=9 * 10**9,
    attention=Attention(layers=36, heads=32, kv_heads=8, head_dim=128),
)  # fmt: skip
HYBRID = replace(
    DENSE, architecture="Qwen3_5MoeForConditionalGeneration", experts=256, total_bytes=36 * 10**9, mtp_layers=1,
    quantization="ascend",
    attention=Attention(layers=40, heads=16, kv_heads=2, head_dim=256, linear_layers=30),
)  # fmt: skip


def planned(weights, machine, **settings):
    by_hand = {key: Setting(value, "test") for key, value in settings.items()}
    return {decision.key: decision for decision in make_plan(weights, machine, by_hand).options}


def test_a_310p_gets_no_expert_parallelism_and_says_why():
    decision = planned(HYBRID, DUO)["enable_expert_parallel"]
    assert decision.value is False
    assert "310P" in decision.why
    assert planned(HYBRID, replace(A2, devices=2))["enable_expert_parallel"].value is True


def test_linear_attention_keeps_its_state_in_float16_on_a_310p_alone():
    assert planned(HYBRID, DUO)["mamba_ssm_cache_dtype"].value == "float16"
    assert planned(HYBRID, A2)["mamba_ssm_cache_dtype"].value is None
    assert planned(DENSE, DUO)["mamba_ssm_cache_dtype"].value is None


def test_a_310p_captures_few_graphs_for_as_many_requests_as_it_takes():
    options = planned(HYBRID, DUO)
    assert options["tensor_parallel_size"].value == 2
    assert options["max_num_seqs"].value <= 16
    sizes = json.loads(options["compilation_config"].value)["cudagraph_capture_sizes"]
    assert len(sizes) == 2
    assert max(sizes) == options["max_num_seqs"].value
    alone = json.loads(planned(DENSE, replace(DUO, devices=1))["compilation_config"].value)[
        "cudagraph_capture_sizes"
    ]
    assert alone[0] == 1


def test_a_310p_gives_half_of_what_is_left_to_the_cache():
    budget = budget_of(DUO, chip_called(DUO.chip), DENSE, 0.9)
    whole = replace(budget, cache_share=1.0)
    assert 0 < budget.for_cache(DENSE, Layout(1)) <= whole.for_cache(DENSE, Layout(1)) / 2


def test_a_310p_goes_without_two_fusions():
    fusions = json.loads(planned(DENSE, DUO)["additional_config"].value)[
        "ascend_compilation_config"
    ]
    assert fusions == {"enable_npugraph_ex": False, "fuse_norm_quant": False}


def test_models_that_see_have_no_graphs_on_a_310p_unless_they_are_hybrids():
    seen = planned(replace(DENSE, modalities=("image",)), DUO)
    assert seen["enforce_eager"].value is True
    assert "CANN 9.0" in seen["enforce_eager"].why
    assert "enforce_eager" not in planned(replace(HYBRID, modalities=("image",)), DUO)
    assert "enforce_eager" not in planned(replace(DENSE, modalities=("audio",)), DUO)


@pytest.mark.parametrize("name", ["MixtralForCausalLM", "Qwen3NextForCausalLM"])
def test_mixtures_whose_recipes_have_no_expert_parallelism(name):
    decision = planned(replace(HYBRID, architecture=name), replace(A2, devices=2))[
        "enable_expert_parallel"
    ]
    assert decision.value is False
    assert decision.why == "no recipe of this mixture has it"


def test_the_context_is_long_where_the_cache_holds_several():
    small = replace(DENSE, attention=Attention(layers=36, heads=32, kv_heads=2, head_dim=128))
    assert planned(small, A2)["max_model_len"].value == 131072
    assert planned(DENSE, A2)["max_model_len"].value == 65536
    large = replace(DENSE, attention=Attention(layers=36, heads=32, kv_heads=16, head_dim=128))
    assert planned(large, A2)["max_model_len"].value == 40960
    assert planned(replace(small, context=32768), A2)["max_model_len"].value == 32768


@pytest.mark.parametrize("name", ["MixtralForCausalLM", "Qwen3ASRForConditionalGeneration"])
def test_architectures_that_recipes_launch_without_graphs(name):
    options = planned(replace(DENSE, architecture=name), A2)
    assert options["enforce_eager"].value is True
    assert options["compilation_config"].value is None
    assert "enforce_eager" not in planned(replace(DENSE, architecture=name), DUO)


def test_graphs_can_be_asked_for_and_left_out_by_hand():
    mixtral = replace(DENSE, architecture="MixtralForCausalLM")
    asked = planned(mixtral, A2, enforce_eager=False)
    assert "--enforce-eager" not in asked["enforce_eager"].arguments()
    assert "FULL_DECODE_ONLY" in asked["compilation_config"].value
    assert planned(DENSE, A2, enforce_eager=True)["compilation_config"].value is None


def test_deepseek_v4_has_its_own_tokenizer_mode():
    options = planned(replace(DENSE, architecture="DeepseekV4ForCausalLM"), A2)
    assert options["tokenizer_mode"].value == "deepseek_v4"
    assert planned(DENSE, A2)["tokenizer_mode"].value is None


def test_deepseek_ocr_2_goes_without_what_its_recipe_leaves_out():
    config = planned(replace(DENSE, architecture="DeepseekOCR2ForCausalLM"), A2)[
        "additional_config"
    ].value
    assert json.loads(config) == {
        "ascend_compilation_config": {"fuse_qknorm_rope": False},
        "weight_nz_mode": 0,
    }
    assert planned(DENSE, A2)["additional_config"].value is None


def test_layers_that_draft_tokens_are_left_alone_and_can_be_asked_for():
    decision = planned(HYBRID, A2)["speculative_config"]
    assert decision.value is None
    assert '{"method": "mtp", "num_speculative_tokens": 1}' in decision.why
    asked = '{"method": "mtp", "num_speculative_tokens": 1}'
    assert planned(HYBRID, A2, speculative_config=asked)["speculative_config"].value == asked
    assert "no layers" in planned(DENSE, A2)["speculative_config"].why


def test_videos_take_memory_only_where_any_input_is_asked_about():
    seen = json.loads(
        planned(replace(DENSE, modalities=("image", "video")), A2)["limit_mm_per_prompt"].value
    )
    assert seen == {"image": 8, "video": 0}
    heard = replace(DENSE, modalities=("image", "video", "audio"))
    assert json.loads(planned(heard, A2)["limit_mm_per_prompt"].value)["video"] == 1


@pytest.mark.parametrize(
    ("scheme", "experts", "expected"),
    [
        ("W4A4_FLATQUANT_DYNAMIC", 0, {"fuse_norm_quant": False}), ("W4A8_DYNAMIC", 0, {"enable_npugraph_ex": False}),
        ("W4A8_DYNAMIC", 8, None), ("W4A4_MXFP4", 0, None), ("W8A8", 0, None),
    ],
)  # fmt: skip
def test_schemes_whose_recipes_go_without_a_fusion(scheme, experts, expected):
    weights = replace(DENSE, quantization="ascend", scheme=scheme, experts=experts)
    config = planned(weights, A2)["additional_config"].value
    assert (config and json.loads(config)["ascend_compilation_config"]) == expected
