"""Derives the routed experts from the configuration, for weights whose tensor names do not show them."""

from __future__ import annotations

from healthcheck.stages.weights.documents import (
    JsonObject,
    child,
    integer,
    positive,
    text_of,
    words,
)
from healthcheck.stages.weights.known_models import known_models
from healthcheck.stages.weights.records import Weights

EXPERTS = (
    "n_routed_experts",
    "num_experts",
    "num_local_experts",
    "moe_num_experts",
    "num_routed_experts",
)
WIDTHS = (
    "moe_intermediate_size",
    "expert_ffn_hidden_size",
    "moe_ffn_hidden_size",
    "intermediate_size",
)
MATRICES = 3
"""The matrices of an expert: gate, up and down projection."""
NUMBER_BYTES = (2.0, 1.0, 0.5)
MAX_LAYERS = 10_000
BLOCKS = "block_configs"


def has_experts(config: JsonObject) -> bool:
    """Whether the (text) configuration describes a mixture of experts."""
    return (positive(config, *EXPERTS) or 0) > 1


def is_dense(weights: Weights) -> bool:
    """Whether vLLM finds no experts: the configuration has no number, and the model type has none by default.

    Source: get_num_experts of vllm/transformers_utils/model_arch_config_convertor.py.
    """
    config = weights.config.value
    parts = (config, weights.text_config, child(config, "thinker_config"))
    kinds = {text_of(part.get("model_type")) for part in parts}
    names = "".join((*kinds, *words(config.get("architectures")))).lower()
    named = any(part.get(name) for part in parts for name in (*EXPERTS, BLOCKS))
    by_default = (
        bool(kinds & known_models().experts_by_default) or "moe" in names or "auto_map" in config
    )
    return not named and not by_default


def expert_parameters(config: JsonObject) -> int:
    """Parameters of all routed experts; 0 for a dense model or an incomplete configuration."""
    count, width = positive(config, *EXPERTS), positive(config, *WIDTHS)
    hidden, layers = integer(config.get("hidden_size")), integer(config.get("num_hidden_layers"))
    if (
        not count
        or count < 2
        or not width
        or not hidden
        or not layers
        or not 0 < layers <= MAX_LAYERS
    ):
        return 0
    return _sparse_layers(config, layers) * count * MATRICES * hidden * width


def estimated_bytes(config: JsonObject, total_bytes: int) -> int:
    """Bytes of the experts in the widest number format in which they fit into files of `total_bytes`."""
    parameters = expert_parameters(config)
    sizes = (int(parameters * width) for width in NUMBER_BYTES)
    return next((size for size in sizes if size <= total_bytes), 0)


def _sparse_layers(config: JsonObject, layers: int) -> int:
    kinds = words(config.get("mlp_layer_types"))
    if len(kinds) == layers:
        return layers - kinds.count("dense")
    listed = config.get("moe_layer_freq")
    if isinstance(listed, list) and len(listed) == layers:
        return layers - listed.count(0)
    first = integer(config.get("first_k_dense_replace")) or 0
    every = (
        positive(config, "decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step") or 1
    )
    dense = config.get("mlp_only_layers")
    without = len(dense) if isinstance(dense, list) else 0
    return max((layers - first) // every - without, 0)
