"""Copies of a model on the devices that one copy leaves idle, and how they share experts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapter.decision import Refusal
from adapter.device import Machine
from adapter.experts import expert_bytes
from adapter.memory import Layout, weight_bytes
from adapter.plan import make_plan
from adapter.settings import Setting
from adapter.weights import Attention, Weights

GB = 10**9
DENSE = Weights(
    path="/w", architecture="Qwen3ForCausalLM", dtype="bfloat16", context=40960, total_bytes=16 * GB,
    attention=Attention(layers=36, heads=32, kv_heads=8, head_dim=128),
)  # fmt: skip
MIXTURE = replace(
    DENSE, architecture="Qwen3MoeForCausalLM", total_bytes=61 * GB, experts=128, expert_bytes=58 * GB,
    attention=Attention(layers=48, heads=32, kv_heads=4, head_dim=128),
)  # fmt: skip
R1 = {
    "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "vocab_size": 129280,
    "n_routed_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
    "intermediate_size": 18432,
}  # fmt: skip
LARGE = replace(
    MIXTURE, architecture="DeepseekV3ForCausalLM", context=163840, total_bytes=685 * GB, experts=256,
    expert_bytes=expert_bytes(R1, 685 * GB),
    attention=Attention(layers=61, heads=128, kv_heads=128, head_dim=56, latent=576),
)  # fmt: skip
MACHINES = {
    "A2": Machine(8, "910B3", 65536, "test"),
    "A3": Machine(16, "Ascend910", 65536, "test"),
    "310P": Machine(4, "310P3", 43693, "test"),
}


def planned(weights, machine, **settings):
    by_hand = {key: Setting(value, "test") for key, value in settings.items()}
    return {decision.key: decision for decision in make_plan(weights, machine, by_hand).options}


def layout(weights, machine, **settings):
    options = planned(weights, machine, **settings)
    return options["tensor_parallel_size"].value, options["data_parallel_size"].value


@pytest.mark.parametrize(
    ("weights", "machine", "expected"),
    [
        (DENSE, "A2", (1, 8)), (replace(DENSE, total_bytes=66 * GB), "A3", (4, 4)), (MIXTURE, "A2", (4, 2)),
        (LARGE, "A3", (4, 4)), (replace(LARGE, architecture="DeepseekV32ForCausalLM"), "A3", (8, 2)),
        (replace(LARGE, architecture="GlmMoeDsaForCausalLM"), "A3", (16, None)), (DENSE, "310P", (2, None)),
        (replace(MIXTURE, architecture="MixtralForCausalLM"), "A2", (4, None)),
        (replace(MIXTURE, experts=4), "A2", (4, None)),
        (replace(LARGE, quantization="compressed-tensors"), "A3", (16, None)),
    ],
)  # fmt: skip
def test_the_devices_that_one_copy_leaves_idle_serve_more(weights, machine, expected):
    assert layout(weights, MACHINES[machine]) == expected


def test_a_large_mixture_is_one_copy_on_an_a2_as_in_its_recipes():
    weights = replace(
        LARGE, architecture="MiniMaxM2ForCausalLM", total_bytes=230 * GB, expert_bytes=220 * GB
    )
    assert layout(weights, MACHINES["A2"]) == (8, None)


def test_copies_share_their_experts():
    options = planned(MIXTURE, MACHINES["A2"])
    assert options["enable_expert_parallel"].value is True
    assert "8 devices" in options["enable_expert_parallel"].why


def test_one_copy_says_why():
    why = planned(replace(MIXTURE, architecture="MixtralForCausalLM"), MACHINES["A2"])[
        "data_parallel_size"
    ].why
    assert why == "one copy: no recipe has more of this mixture"
    assert "310P" in planned(DENSE, MACHINES["310P"])["data_parallel_size"].why


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.23.0", (16, None)),
        ("0.25.1rc1", (16, None)),
        ("0.23.0.post1", (4, 4)),
        ("0.26.0rc1", (4, 4)),
    ],
)
def test_a_deepseek_v4_has_no_copies_where_idle_ones_spoil_the_cache(release, expected):
    weights, machine = (
        replace(LARGE, architecture="DeepseekV4ForCausalLM"),
        replace(MACHINES["A3"], release=release),
    )
    assert layout(weights, machine) == expected


def test_the_number_of_copies_can_be_decided():
    assert layout(LARGE, MACHINES["A3"], data_parallel_size=1) == (16, 1)
    assert layout(LARGE, MACHINES["A3"], data_parallel_size=2) == (8, 2)
    assert layout(DENSE, MACHINES["A2"], data_parallel_size=2) == (1, 2)
    with pytest.raises(Refusal, match="8 device"):
        layout(DENSE, MACHINES["A2"], data_parallel_size=9)


def test_several_machines_have_no_copies_of_their_own_but_those_that_the_group_asks_for():
    group = {"nodes": ("a", "b"), "network_interface": "e"}
    assert "data_parallel_size" not in planned(DENSE, MACHINES["A2"], multi_node="ray", **group)
    assert (
        planned(DENSE, MACHINES["A2"], multi_node="data-parallel", **group)[
            "data_parallel_size"
        ].value
        == 16
    )


def test_experts_are_what_is_left_of_the_weights_beside_attention_and_embeddings():
    # DeepSeek-R1 has 671 billion parameters, of which 654 billion are routed experts: 58 × 256 × 3 × 7168 × 2048.
    experts = 58 * 256 * 3 * 7168 * 2048
    assert expert_bytes(R1, 2 * 671 * GB) == pytest.approx(2 * experts, rel=0.01)
    assert expert_bytes(R1, 10 * GB) == 0
    assert expert_bytes({"num_experts": 8}, 10 * GB) == 0


def test_layers_without_experts_are_none_of_the_experts():
    # MiniMax-M3: 57 of 60 layers have experts; the 3 others are four times as wide as one of them.
    experts, embeddings = 57 * 128 * 3 * 6144 * 3072, 2 * 200064 * 6144
    attention, shared, dense = (
        60 * 2 * 6144 * 128 * (64 + 4),
        57 * 3 * 6144 * 3072,
        3 * 3 * 6144 * 12288,
    )
    m3 = {
        "hidden_size": 6144, "num_hidden_layers": 60, "num_attention_heads": 64, "num_key_value_heads": 4,
        "head_dim": 128, "vocab_size": 200064, "intermediate_size": 3072, "dense_intermediate_size": 12288,
        "num_local_experts": 128, "n_shared_experts": 1, "moe_layer_freq": [0] * 3 + [1] * 57,
    }  # fmt: skip
    found = expert_bytes(m3, 2 * (experts + embeddings + attention + shared + dense))
    assert 0.99 * 2 * experts < found <= 2 * experts


def test_each_device_holds_its_share_of_the_experts_and_a_part_of_the_rest():
    assert weight_bytes(MIXTURE, Layout(4, 2)) == 3 * GB // 4 + 58 * GB // 8
    assert weight_bytes(DENSE, Layout(2, 4)) == 8 * GB
