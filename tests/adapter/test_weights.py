"""What is read from a folder of weights, strange ones included."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapter.device import Machine
from adapter.plan import make_plan
from adapter.weights import Attention, read_weights

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from([
    "architectures", "torch_dtype", "max_position_embeddings", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "hidden_size", "head_dim", "text_config", "thinker_config", "vision_config", "audio_config",
    "rope_scaling", "layer_types", "sliding_window", "sliding_window_pattern", "kv_lora_rank", "qk_rope_head_dim",
    "quantization_config", "auto_map", "num_experts", "full_attention_interval",
])  # fmt: skip


def write(folder, config, name="config.json"):
    (folder / name).write_text(config if isinstance(config, str) else json.dumps(config))


def safetensors(path, header, data=b""):
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def attention(folder, **config):
    write(
        folder, {"num_hidden_layers": 8, "num_attention_heads": 16, "hidden_size": 1024, **config}
    )
    return read_weights(folder).attention


def test_heads_without_more_are_multi_head_attention(tmp_path):
    assert attention(tmp_path) == Attention(layers=8, heads=16, kv_heads=16, head_dim=64)


def test_grouped_heads_and_an_explicit_head_size(tmp_path):
    shape = attention(tmp_path, num_key_value_heads=4, head_dim=128)
    assert (shape.kv_heads, shape.head_dim) == (4, 128)


def test_a_latent_cache_has_the_width_of_rank_and_rope(tmp_path):
    assert attention(tmp_path, kv_lora_rank=512, qk_rope_head_dim=64).latent == 576


@pytest.mark.parametrize(
    ("config", "index"),
    [
        ({"kv_lora_rank": 512, "index_head_dim": 128}, 128),
        ({"sparse_attention_config": {"sparse_index_dim": 128}}, 128),
        ({"sparse_attention_config": [128]}, 0),
        (
            {"index_head_dim": 128},
            0,
        ),  # DeepSeek-V4: its cache is compressed, and smaller than reckoned without
    ],
)
def test_sparse_attention_keeps_an_index(config, index, tmp_path):
    assert attention(tmp_path, **config).index == index


@pytest.mark.parametrize(
    ("config", "sliding", "window"),
    [
        ({"sliding_window": 4096}, 8, 4096),
        ({"sliding_window": None}, 0, 0),
        ({"sliding_window": 4096, "use_sliding_window": False}, 0, 0),
        ({"sliding_window": 1024, "sliding_window_pattern": 4}, 6, 1024),
        (
            {"sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"] * 4},
            4,
            512,
        ),
    ],
)
def test_sliding_layers(tmp_path, config, sliding, window):
    shape = attention(tmp_path, **config)
    assert (shape.sliding_layers, shape.window) == (sliding, window)


@pytest.mark.parametrize(
    "config",
    [
        {"full_attention_interval": 4},
        {"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2},
    ],
)
def test_linear_layers(tmp_path, config):
    assert attention(tmp_path, **config).linear_layers == 6


def test_the_language_part_of_a_model_of_several(tmp_path):
    text = {
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "hidden_size": 64,
        "max_position_embeddings": 4096,
    }
    write(
        tmp_path,
        {
            "thinker_config": {
                "text_config": text,
                "vision_config": {"a": 1},
                "audio_config": {"a": 1},
            }
        },
    )
    weights = read_weights(tmp_path)
    assert weights.context == 4096
    assert weights.attention.layers == 2
    assert weights.modalities == ("image", "audio")


@pytest.mark.parametrize(
    ("config", "context"),
    [
        (
            {"max_position_embeddings": 32768, "seq_length": 8192},
            8192,
        ),  # Qwen-7B: vLLM takes the least
        (
            {"max_position_embeddings": 8192, "model_max_length": 131072},
            131072,
        ),  # Command R: this one stands above
        ({"max_sequence_length": 2048}, 2048),  # ChatGLM-6B
        ({"model_type": "gemma3_text"}, 131072),  # left to Transformers
        ({}, None),
        ({"max_position_embeddings": 32768.0}, None),
    ],
)
def test_the_context_is_what_vllm_accepts(tmp_path, config, context):
    write(tmp_path, config)
    assert read_weights(tmp_path).context == context


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize(
    ("scaling", "context"),
    [
        (
            {"factor": 4.0, "original_max_position_embeddings": 32768},
            40960,
        ),  # 0.23 takes 131072, 0.32 does not
        ({"factor": 2.0, "original_max_position_embeddings": 8192}, 16384),
        ({"factor": float("nan"), "original_max_position_embeddings": 8}, 40960),
        ({"factor": float("inf"), "original_max_position_embeddings": 8}, 40960),
        ({"factor": 1e300, "original_max_position_embeddings": 10**400}, 40960),
        ({"factor": "4", "original_max_position_embeddings": 8192}, 40960),
        ({}, 40960),
    ],
)
def test_yarn_only_shortens_the_context(tmp_path, key, scaling, context):
    write(tmp_path, {"max_position_embeddings": 40960, key: {"rope_type": "yarn", **scaling}})
    assert read_weights(tmp_path).context == context


SHAPE = {"num_hidden_layers": 12, "num_attention_heads": 8, "hidden_size": 64}


@pytest.mark.parametrize(
    ("config", "sliding"),
    [
        ({"sliding_window": 4096}, 12),  # Mistral 7B v0.1
        ({"sliding_window": 4096, "sliding_window_pattern": 4}, 9),  # Command R7B
        ({"sliding_window": 4096, "sliding_window_pattern": "LLLG"}, 9),  # EXAONE 4
        ({"sliding_window": 4096, "model_type": "gemma2"}, 6),
        ({"model_type": "gemma3_text"}, 10),
        ({"sliding_window": 4096, "use_sliding_window": False}, 0),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 12}, 0),
        ({"sliding_window": 4096, "layer_types": ["full_attention", "sliding_attention"] * 6}, 6),
        ({"sliding_window": 4096, "layer_types": [None, {}, 1]}, 0),
        ({}, 0),
    ],
)
def test_which_layers_slide(tmp_path, config, sliding):
    write(tmp_path, {**SHAPE, **config})
    assert read_weights(tmp_path).attention.sliding_layers == sliding


def test_the_dtype_of_most_bytes_where_the_configuration_is_silent(tmp_path):
    write(tmp_path, {})
    tensors = {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
               "b": {"dtype": "F16", "shape": [50], "data_offsets": [8, 108]}}  # fmt: skip
    safetensors(tmp_path / "model.safetensors", tensors)
    assert read_weights(tmp_path).dtype == "float16"


def test_float32_is_loaded_in_16_bits(tmp_path):
    tensors = {"a": {"dtype": "F32", "shape": [250], "data_offsets": [0, 1000]}}
    safetensors(tmp_path / "model.safetensors", tensors, b"0" * 1000)
    assert 500 <= read_weights(tmp_path).total_bytes < 600


def test_only_the_files_of_the_index_count(tmp_path):
    write(
        tmp_path,
        {"weight_map": {"a": "model-1.safetensors", "b": "../outside"}},
        "model.safetensors.index.json",
    )
    (tmp_path / "model-1.safetensors").write_bytes(b"x" * 100)
    (tmp_path / "consolidated.safetensors").write_bytes(b"x" * 1000)
    assert read_weights(tmp_path).total_bytes == 100


def test_the_index_alone_is_enough_for_a_plan_before_a_download(tmp_path):
    index = {"metadata": {"total_size": 123456}, "weight_map": {"a": "model-1.safetensors"}}
    write(tmp_path, index, "model.safetensors.index.json")
    assert read_weights(tmp_path).total_bytes == 123456


def test_code_of_the_tokenizer_counts_too(tmp_path):
    write(tmp_path, {"auto_map": {"AutoTokenizer": ["tok.Tok", None]}}, "tokenizer_config.json")
    assert read_weights(tmp_path).remote_code == ("tokenizer_config.json",)


@pytest.mark.parametrize(
    ("config", "method"),
    [({"quantization_config": {"quant_method": "awq"}}, "awq"), ({"compression_config": {"quant_method": "compressed-tensors"}},
      "compressed-tensors"), ({"quantization_config": {"bits": 8}}, "a method that config.json does not name"),
     ({"quantization_config": {"quant_method": None, "a": 1}}, "a method that config.json does not name"),
     ({"quantization_config": {}}, None), ({"quantization_config": "int4"}, None), ({}, None)],
)  # fmt: skip
def test_quantisation(tmp_path, config, method):
    write(tmp_path, config)
    assert read_weights(tmp_path).quantization == method


@pytest.mark.parametrize(
    ("algorithm", "method"), [("FP8", "modelopt"), ("MXFP8", "modelopt_mxfp8"), (None, None)]
)
def test_old_modelopt_has_a_file_of_its_own(tmp_path, algorithm, method):
    write(tmp_path, {"quantization": {"quant_algo": algorithm}}, "hf_quant_config.json")
    assert read_weights(tmp_path).quantization == method


def test_modelslim_goes_before_what_the_configuration_says(tmp_path):
    write(tmp_path, {"quantization_config": {"quant_method": "x"}})
    write(tmp_path, {}, "quant_model_description.json")
    assert read_weights(tmp_path).quantization == "ascend"


def test_the_scheme_is_that_of_most_tensors(tmp_path):
    kinds = {
        "a.weight": "W8A8",
        "b.weight": "W4A8_DYNAMIC",
        "c.weight": "W4A8_DYNAMIC",
        "model_quant_type": "W8A8",
    }
    floats = {f"{number}.weight": "FLOAT" for number in range(9)}
    write(tmp_path, json.dumps(kinds | floats), "quant_model_description.json")
    assert read_weights(tmp_path).scheme == "W4A8_DYNAMIC"
    write(tmp_path, json.dumps(floats | {"d.weight": 1}), "quant_model_description.json")
    assert read_weights(tmp_path).scheme is None


def test_layers_for_multi_token_prediction(tmp_path):
    write(tmp_path, json.dumps({"num_nextn_predict_layers": 1}))
    assert read_weights(tmp_path).mtp_layers == 1
    write(tmp_path, json.dumps({"text_config": {"mtp_num_hidden_layers": 2}}))
    assert read_weights(tmp_path).mtp_layers == 2
    write(tmp_path, json.dumps({"num_nextn_predict_layers": 0}))
    assert read_weights(tmp_path).mtp_layers == 0


def test_shards_of_ranks(tmp_path):
    for rank in range(4):
        (tmp_path / f"model-rank-{rank}-part-0.safetensors").write_bytes(b"x")
    assert read_weights(tmp_path).ranks == 4


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '"x"', "[" * 100000, '{"a": NaN}', "\ufeff{}"]
)
def test_a_configuration_that_is_none_is_remarked_on(tmp_path, text):
    write(tmp_path, text)
    weights = read_weights(tmp_path)
    assert (weights.context, weights.attention) == (None, None)


def test_an_empty_folder_says_so(tmp_path):
    assert any("config.json" in remark for remark in read_weights(tmp_path).remarks)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    config=st.dictionaries(KEYS, JSON, max_size=12),
    header=st.binary(max_size=40) | JSON,
    devices=st.sampled_from([0, 1, 8]),
)
def test_no_weights_are_strange_enough_to_stop_a_plan(tmp_path, config, header, devices):
    write(tmp_path, config)
    safetensors(tmp_path / "model.safetensors", header)
    machine = Machine(devices, "910B3" if devices else None, 65536 if devices else None, "test")
    by_hand = {}
    weights = read_weights(tmp_path)
    if weights.quantization not in {None, "ascend"}:
        return
    assert make_plan(weights, machine, by_hand).options
