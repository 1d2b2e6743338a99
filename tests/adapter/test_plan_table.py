"""The plan for real models on real machines: it fits, and it agrees with how vllm-ascend's documents launch them."""

from __future__ import annotations

import itertools

import pytest

from adapter.decision import Refusal
from adapter.device import Machine
from adapter.plan import make_plan
from adapter.weights import read_weights
from tests.adapter.models import MODELS

GIB = 2**30
# What torch reports for one device, in GiB; that of the 950 is what an idle one leaves.
MACHINES = {
    "910B3 x 8": (Machine(8, "910B3", 65536, "test"), 60.97),
    "910B2C x 1": (Machine(1, "910B2C", 65536, "test"), 60.97),
    "910B4 x 2": (Machine(2, "910B4", 32768, "test"), 28.6),
    "A3 x 16": (Machine(16, "Ascend910", 65536, "test"), 60.97),
    "310P Duo x 8": (Machine(8, "310P3", 43693, "test"), 42.67),
    "950DT x 8": (Machine(8, "Ascend950DT", 86016, "test"), 77.6),
}


def planned(model, folder, machine, settings=None):
    return {
        decision.key: decision.value
        for decision in make_plan(read_weights(folder), machine, settings or {}).options
    }


def planned_unless_too_large(model, folder, machine, torch_bytes, heads):
    """The options, or None where the plan refuses and the weights are indeed about as large as the memory."""
    try:
        return planned(model, folder, machine)
    except Refusal:
        most = max(
            size for size in (1, 2, 4, 8, 16) if size <= machine.devices and heads % size == 0
        )
        if model.gigabytes * 1e9 > 0.6 * most * torch_bytes:
            return None
        raise


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The weights of each model, by its name."""
    return {model.name: model.write(tmp_path_factory.mktemp("weights")) for model in MODELS}


def test_it_never_asks_for_more_memory_than_there_is(subtests: pytest.Subtests, folders):
    for model, name in itertools.product(MODELS, MACHINES):
        with subtests.test(f"{model.name} on {name}"):
            folder = folders[model.name]
            machine, torch_gib = MACHINES[name]
            heads, kv_heads = (
                read_weights(folder).attention.heads,
                read_weights(folder).attention.kv_heads,
            )
            options = planned_unless_too_large(model, folder, machine, torch_gib * GIB, heads)
            if options is None:
                continue
            size = options["tensor_parallel_size"]
            assert 1 <= size <= machine.devices
            assert heads % size == 0
            split = 1 if "kv_lora_rank" in str(model.config) else min(size, kv_heads)
            one_sequence = model.cache * options["max_model_len"] / split
            assert (
                model.gigabytes * 1e9 / size + one_sequence
                <= options["gpu_memory_utilization"] * torch_gib * GIB
            )
            assert options["gpu_memory_utilization"] <= 0.95
            assert 1 <= options["max_num_seqs"] <= 128
            assert options["max_model_len"] <= model.config["max_position_embeddings"]


@pytest.mark.parametrize(
    "launched", [model for model in MODELS if model.documented], ids=lambda model: model.name
)
def test_as_many_64_gb_devices_as_the_documents_use_within_a_factor_of_two(launched, tmp_path):
    size = planned(launched, launched.write(tmp_path), MACHINES["A3 x 16"][0])[
        "tensor_parallel_size"
    ]
    assert launched.documented / 2 <= size <= launched.documented * 2


@pytest.mark.parametrize(("name", "size"), [("Qwen3-8B", 1), ("Qwen3-32B", 4), ("Mixtral-8x7B", 4)])
def test_the_sizes_that_the_documents_state_outright(name, size, tmp_path):
    (model,) = (model for model in MODELS if model.name == name)
    assert (
        planned(model, model.write(tmp_path), MACHINES["910B3 x 8"][0])["tensor_parallel_size"]
        == size
    )


@pytest.mark.parametrize(("chip", "hbm_mib", "least"), [("910B3", 65536, 2), ("910B4", 32768, 4)])
def test_qwen3_30b_needs_what_its_tutorial_says(chip, hbm_mib, least, tmp_path):
    (model,) = (model for model in MODELS if model.name == "Qwen3-30B-A3B")
    options = planned(model, model.write(tmp_path), Machine(8, chip, hbm_mib, "test"))
    assert options["tensor_parallel_size"] >= least
    assert options["enable_expert_parallel"] is True


def test_dtype_and_quantisation_follow_chip_and_weights(subtests: pytest.Subtests, folders):
    for model in MODELS:
        with subtests.test(model.name):
            on_a2 = planned(model, folders[model.name], Machine(16, "910B3", 65536, "test"))
            on_310p = planned(model, folders[model.name], Machine(128, "310P3", 43693, "test"))
            assert on_a2["dtype"] == "bfloat16"
            assert on_310p["dtype"] == "float16"
            assert on_a2["quantization"] == ("ascend" if model.quantised else None)


def test_experts_are_parallel_where_there_are_experts(subtests: pytest.Subtests, folders):
    for model in MODELS:
        with subtests.test(model.name):
            options = planned(model, folders[model.name], Machine(16, "910B3", 65536, "test"))
            experts = "experts" in str(model.config)
            assert options["enable_expert_parallel"] is (
                experts and options["tensor_parallel_size"] > 1
            )


def test_code_is_trusted_only_where_the_weights_bring_some(subtests: pytest.Subtests, folders):
    for model in MODELS:
        with subtests.test(model.name):
            options = planned(model, folders[model.name], Machine(16, "910B3", 65536, "test"))
            assert options["trust_remote_code"] is ("auto_map" in model.outside)


def test_without_an_npu_nothing_of_npus_is_asked_for(subtests: pytest.Subtests, folders):
    for model in MODELS:
        with subtests.test(model.name):
            plan = make_plan(read_weights(folders[model.name]), Machine(0, None, None, "test"), {})
            flags = {argument for argument in plan.arguments() if argument.startswith("--")}
            assert flags <= {
                "--dtype", "--quantization", "--tensor-parallel-size", "--max-model-len", "--max-num-seqs", "--trust-remote-code",
            }  # fmt: skip
            assert not any(
                decision.key.startswith(("HCCL", "PYTORCH_NPU")) for decision in plan.environment
            )
