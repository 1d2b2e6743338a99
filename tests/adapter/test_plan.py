"""Single decisions of the plan, by hand and by rule, and the program that prints it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from adapter.chips import chip_called
from adapter.decision import Refusal
from adapter.device import Machine
from adapter.plan import make_plan
from adapter.precision import quantization
from adapter.settings import Setting, SettingsError
from adapter.weights import Attention, Weights

ROOT = Path(__file__).parents[2]
A2 = Machine(8, "910B3", 65536, "test")
SMALL = Weights(
    path="/w", architecture="Qwen3ForCausalLM", dtype="bfloat16", context=40960, total_bytes=16 * 10**9,
    attention=Attention(layers=36, heads=32, kv_heads=8, head_dim=128),
)  # fmt: skip
LARGE = replace(SMALL, total_bytes=600 * 10**9)


def by_hand(**values):
    return {key: Setting(value, "adapter.toml") for key, value in values.items()}


def decisions(weights=SMALL, machine=A2, **values):
    return {
        decision.key: decision
        for decision in make_plan(weights, machine, by_hand(**values)).options
    }


def variables(weights, machine):
    return {
        decision.key: decision.value for decision in make_plan(weights, machine, {}).environment
    }


def test_what_was_decided_by_hand_stands_and_says_where():
    dtype = decisions(dtype="float16")["dtype"]
    assert (dtype.value, dtype.why, dtype.source) == ("float16", "decided by hand", "adapter.toml")


def test_an_option_that_this_machine_would_not_need_can_be_asked_for():
    plan = make_plan(SMALL, A2, by_hand(additional_config='{"a": 1}', load_format="safetensors"))
    arguments = plan.arguments()
    assert arguments[arguments.index("--additional-config") + 1] == '{"a": 1}'
    assert arguments[arguments.index("--load-format") + 1] == "safetensors"


def test_what_is_left_to_vllm_is_not_passed():
    assert "--max-model-len" not in make_plan(SMALL, A2, by_hand(max_model_len=None)).arguments()


def test_the_rest_is_planned_around_a_size_by_hand():
    tight = Machine(2, "910B4", 32768, "test")
    assert (
        decisions(machine=tight, tensor_parallel_size=1)["max_num_seqs"].value
        < decisions(machine=tight)["max_num_seqs"].value
    )


def test_weights_that_are_too_large_are_refused_with_figures():
    with pytest.raises(Refusal, match=r"558\.8 GiB.*8 device"):
        decisions(LARGE)


def test_a_size_by_hand_is_tried_all_the_same():
    assert decisions(LARGE, tensor_parallel_size=8)["tensor_parallel_size"].value == 8


def test_weights_that_just_fit_are_launched_with_what_context_remains():
    tight = replace(SMALL, total_bytes=50 * 2**30)
    options = decisions(tight, Machine(1, "910B3", 65536, "test"))
    assert options["tensor_parallel_size"].value == 1
    assert 2048 <= options["max_model_len"].value < 40960


@pytest.mark.parametrize("method", ["awq", "gptq", "bitsandbytes"])
def test_quantisations_that_vllm_ascend_does_not_run_are_refused_with_the_reason(method):
    with pytest.raises(Refusal, match=f"vllm-ascend runs .* weights, not {method}: "):
        decisions(replace(SMALL, quantization=method))


def test_fp8_weights_are_those_of_deepseek_v4_and_minimax_m2():
    weights = replace(SMALL, quantization="fp8")
    with pytest.raises(
        Refusal, match=r"FP8 weights of DeepSeek-V4 and MiniMax-M2 alone .*ADAPTER_QUANTIZATION$"
    ):
        decisions(weights)
    assert (
        decisions(replace(weights, architecture="DeepseekV4ForCausalLM"))["quantization"].value
        is None
    )
    assert decisions(weights, quantization="fp8")["quantization"].value == "fp8"


@pytest.mark.parametrize(
    ("release", "runs"), [("0.26.0rc1", False), ("0.27.1rc1", True), ("0.30.0rc2", True)]
)
def test_later_releases_read_the_fp8_weights_of_all_models(release, runs):
    weights, machine = (
        replace(SMALL, quantization="fp8"),
        Machine(1, "910B3", 65536, "test", release),
    )
    if runs:
        assert decisions(weights, machine)["quantization"].value is None
    else:
        with pytest.raises(Refusal, match=r"before 0\.27"):
            decisions(weights, machine)


@pytest.mark.parametrize(("chip", "hbm_mib", "devices"), [("910B3", 65536, 2), ("910B4", 32768, 4)])
def test_fp8_weights_take_16_bits_a_number_on_a_910b(chip, hbm_mib, devices):
    dense = replace(SMALL, quantization="fp8", total_bytes=35 * 10**9)
    mixture = replace(
        dense, experts=128, expert_bytes=30 * 10**9, architecture="Qwen3MoeForCausalLM"
    )
    for weights in (dense, mixture):
        machine = Machine(devices, chip, hbm_mib, "test", "0.30.0rc2")
        assert decisions(weights, machine)["tensor_parallel_size"].value == devices
        with pytest.raises(Refusal, match=r"the weights need 65\.2 GiB"):
            decisions(weights, replace(machine, devices=devices // 2))


def test_fp8_weights_keep_their_size_on_a_950_and_for_deepseek_v4():
    weights = replace(SMALL, quantization="fp8", total_bytes=35 * 10**9)
    one = Machine(1, "Ascend950DT", 86016, "test", "0.30.0rc2")
    assert decisions(weights, one)["tensor_parallel_size"].value == 1
    kept = replace(weights, architecture="DeepseekV4ForCausalLM")
    assert decisions(kept, Machine(1, "910B3", 65536, "test"))["tensor_parallel_size"].value == 1


def test_mx_formats_are_of_the_950():
    weights = replace(SMALL, quantization="mxfp8")
    with pytest.raises(Refusal, match="on a 950 alone, not on a 910B3"):
        decisions(weights)
    assert (
        decisions(weights, Machine(8, "Ascend950DT", 86016, "test"))["quantization"].value is None
    )


def test_they_are_no_concern_of_a_machine_without_npus():
    weights = replace(SMALL, quantization="awq")
    assert decisions(weights, Machine(0, None, None, "test"))["quantization"].value is None


def test_a_method_by_hand_is_tried_all_the_same():
    assert (
        decisions(replace(SMALL, quantization="awq"), quantization="awq")["quantization"].value
        == "awq"
    )


def test_compressed_tensors_are_left_to_vllm():
    assert (
        decisions(replace(SMALL, quantization="compressed-tensors"))["quantization"].value is None
    )


@pytest.mark.parametrize(
    ("heads", "kv_heads", "devices", "size"),
    [(28, 4, 8, 4), (14, 2, 8, 2), (64, 8, 16, 16), (24, 8, 16, 8), (40, 8, 6, 4), (25, 5, 8, 1)],
)
def test_only_sizes_that_divide_the_heads(heads, kv_heads, devices, size):
    weights = replace(
        SMALL, attention=Attention(layers=2, heads=heads, kv_heads=kv_heads, head_dim=64)
    )
    unknown_memory = Machine(devices, None, None, "/dev/davinci*")
    assert decisions(weights, unknown_memory)["tensor_parallel_size"].value == size


def test_a_310p_gets_its_special_options():
    options = decisions(machine=Machine(1, "310P3", 43693, "test"))
    assert options["dtype"].value == "float16"
    assert options["no_enable_prefix_caching"].value is True
    assert options["max_model_len"].value <= 20480
    assert options["max_num_seqs"].value <= 32
    assert json.loads(options["compilation_config"].value)["cudagraph_mode"] == "FULL_DECODE_ONLY"
    assert json.loads(options["additional_config"].value)["ascend_compilation_config"] == {
        "enable_npugraph_ex": False, "fuse_norm_quant": False,
    }  # fmt: skip
    assert options["load_format"].value is None


def test_the_mask_of_a_small_310p_bounds_the_context():
    # 6 bytes × 19,200² = 2.06 GiB, of 2.10 GiB beside 0.9 of its memory
    small = decisions(
        replace(SMALL, context=40960, total_bytes=2 * 10**9), Machine(1, "310P3", 21527, "test")
    )
    assert small["max_model_len"].value == 19200


def test_stored_shards_fix_format_and_size():
    options = decisions(replace(SMALL, ranks=4), Machine(8, "310P3", 43693, "test"))
    assert (options["load_format"].value, options["tensor_parallel_size"].value) == (
        "sharded_state",
        4,
    )


def test_more_shards_than_devices_are_refused():
    with pytest.raises(Refusal, match="4 devices; here are 2"):
        decisions(replace(SMALL, ranks=4), Machine(2, "310P3", 43693, "test"))


def test_weights_of_unknown_shape_are_spread_by_their_size_alone():
    options = decisions(replace(SMALL, attention=None, total_bytes=100 * 10**9))
    assert options["tensor_parallel_size"].value == 4


def test_an_unsupported_chip_is_remarked_on():
    assert any(
        "910ProB" in remark
        for remark in make_plan(SMALL, Machine(1, "910ProB", 32768, "x"), {}).remarks
    )


def test_what_the_plan_cannot_know_is_remarked_on():
    assert any(
        "unknown" in remark
        for remark in make_plan(SMALL, Machine(8, None, None, "/dev/davinci*"), {}).remarks
    )
    group = by_hand(multi_node="ray", nodes=("a", "b"), network_interface="e")
    assert any(
        "the evaluation service has one" in remark for remark in make_plan(SMALL, A2, group).remarks
    )


def test_limits_for_each_kind_of_input():
    options = decisions(replace(SMALL, modalities=("image", "audio")))
    assert set(json.loads(options["limit_mm_per_prompt"].value)) == {"image", "audio"}
    assert decisions()["limit_mm_per_prompt"].value is None


def test_variables_for_experts_on_several_devices():
    weights = replace(SMALL, experts=128, total_bytes=61 * 10**9)
    found = variables(weights, A2)
    assert found["HCCL_BUFFSIZE"] == "1024"
    assert found["PYTORCH_NPU_ALLOC_CONF"] == "expandable_segments:True"
    assert "HCCL_BUFFSIZE" not in variables(SMALL, A2)


def test_remote_code_may_reach_for_a_hub():
    assert "HF_HUB_OFFLINE" not in variables(replace(SMALL, remote_code=("config.json",)), A2)
    assert variables(SMALL, A2)["HF_HUB_OFFLINE"] == "1"


def test_ray_spreads_layers_over_machines():
    options = decisions(
        LARGE, multi_node="ray", nodes=("10.0.0.1", "10.0.0.2"), network_interface="eth0"
    )
    assert options["pipeline_parallel_size"].value == 2
    assert options["distributed_executor_backend"].value == "ray"
    assert options["tensor_parallel_size"].value == 8


def test_data_parallel_machines_know_their_place():
    settings = {
        "multi_node": "data-parallel",
        "nodes": ("10.0.0.1", "10.0.0.2"),
        "network_interface": "eth0",
    }
    assert "headless" not in decisions(**settings)
    second = decisions(**settings, node_rank=1)
    assert second["headless"].value is True
    assert second["data_parallel_size"].value == 16
    assert second["data_parallel_start_rank"].value == 8
    assert second["data_parallel_address"].value == "10.0.0.1"


@pytest.mark.parametrize(
    "settings",
    [
        {"multi_node": "mpi"}, {"multi_node": "ray"}, {"multi_node": "ray", "nodes": ("10.0.0.1",)},
        {"multi_node": "ray", "nodes": ("a", "b")},
        {"multi_node": "ray", "nodes": ("a", "b"), "network_interface": "e", "node_rank": 2},
    ],
)  # fmt: skip
def test_a_group_that_is_not_whole_is_refused(settings):
    with pytest.raises(SettingsError, match=r"multi_node|node_rank"):
        decisions(**settings)


@pytest.fixture
def adapter(tmp_path):
    config = {"torch_dtype": "bfloat16", "max_position_embeddings": 2048, "num_hidden_layers": 2,
              "num_attention_heads": 4, "hidden_size": 64, "architectures": ["Qwen3ForCausalLM"]}  # fmt: skip
    folder = tmp_path / "权 重"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    index = {"metadata": {"total_size": 10**6}, "weight_map": {"w": "model-1.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    def run(*arguments, **environment):
        variables = {"PATH": os.environ["PATH"], "MODEL_PATH": str(folder), **environment}
        return subprocess.run(
            [sys.executable, "-m", "adapter", *arguments],
            cwd=ROOT,
            env=variables,
            capture_output=True,
            check=False,
        )

    return run


@pytest.mark.process
def test_the_table_has_every_option_with_its_reason(adapter):
    text = adapter("--print", "--npu", "910B4", "--npus", "2").stdout.decode()
    assert "2 × 910B4" in text
    assert "权 重" in text
    assert "bfloat16" in text
    assert "the dtype of the weights" in text


@pytest.mark.process
def test_the_table_prints_under_an_ascii_locale(adapter):
    done = adapter("--print", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


@pytest.mark.process
def test_only_absent_variables_are_printed(adapter):
    lines = adapter("--env", "--npu", "A3", OMP_NUM_THREADS="3").stdout.decode().splitlines()
    assert "export TASK_QUEUE_ENABLE=1" in lines
    assert not any("OMP_NUM_THREADS" in line for line in lines)


@pytest.mark.process
def test_the_commands_for_each_machine(adapter):
    group = {
        "ADAPTER_MULTI_NODE": "ray",
        "ADAPTER_NODES": "10.0.0.1 10.0.0.2",
        "ADAPTER_NETWORK_INTERFACE": "eth0",
    }
    done = adapter("--nodes", "--npu", "910B3", "--npus", "8", **group)
    text = done.stdout.decode()
    assert (
        text.index("HCCL_IF_IP=10.0.0.1")
        < text.index("ray start --head")
        < text.index("--address=10.0.0.1:6379")
    )
    assert shlex.split(text.splitlines()[-1])[-1] == "./deploy.sh"


@pytest.mark.process
def test_the_cache_is_counted_at_no_more_than_the_longest_sequence(adapter):
    text = adapter("--print", "--npu", "910B4", ADAPTER_MAX_MODEL_LEN="1024").stdout.decode()
    assert " of 1024 tokens" in text
    assert " of 2048 tokens" not in text


@pytest.mark.process
def test_what_is_ignored_is_named(adapter):
    done = adapter("--print", "--npus", "2", ADAPTER_MAX_MODEL_LN="5", ADAPTER_DTYPE="float16")
    said = done.stderr.decode()
    assert done.returncode == 0
    assert "--npus 2" in said
    assert "ADAPTER_MAX_MODEL_LN (meant ADAPTER_MAX_MODEL_LEN?)" in said
    assert "ADAPTER_DTYPE" not in said
    assert adapter("--env", ADAPTER_MAX_MODEL_LN="5").stderr == b""


def test_a_refusal_of_a_quantisation_is_short_enough_to_be_quoted_whole():
    weights = Weights(path="w", quantization="a method that config.json does not name")
    with pytest.raises(
        Refusal, match=r": take other weights, or set ADAPTER_QUANTIZATION$"
    ) as refused:
        quantization(weights, Machine(1, "910B3", 65536, ""), chip_called("910B3"))
    assert len(f"adapter: {refused.value}") <= 200


@pytest.mark.process
@pytest.mark.parametrize(
    "arguments",
    [("--npu", "H100"), ("--npu", "910X"), ("--npu", "910B3", "--npus", "0"), ("--npus", "two")],
)
def test_wrong_arguments_give_one_line(adapter, arguments):
    done = adapter(*arguments)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


@pytest.mark.process
def test_it_needs_nothing_but_the_standard_library():
    names = {path.stem for path in (ROOT / "adapter").glob("*.py")}
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
         + "; ".join(f"import adapter.{name}" for name in sorted(names - {"__init__", "__main__"}))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def fp8_of_minimax(release):
    weights = Weights(path="w", architecture="MiniMaxM2ForCausalLM", quantization="fp8")
    return quantization(
        weights, Machine(8, "910B3", 65536, "", release=release), chip_called("910B3")
    )


@pytest.mark.parametrize("release", ["0.20.2rc1", "0.23.0", "0.23.0.post1", ""])
def test_fp8_weights_of_minimax_that_become_bfloat16(release):
    assert fp8_of_minimax(release).value is None


@pytest.mark.parametrize("release", ["0.21.0rc1", "0.23.0rc1", "0.26.0rc1"])
def test_fp8_weights_of_minimax_that_are_read_as_those_of_deepseek(release):
    with pytest.raises(Refusal, match=r"does not run FP8 weights of MiniMax-M2, 0\.23\.0 does"):
        fp8_of_minimax(release)
