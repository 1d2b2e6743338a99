"""The size of the experts in a mixture of experts: the part that copies of the model can share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEYS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
OTHER_BYTES = 2
"""Bytes of a parameter outside the experts: quantised weights keep many of them in 16 bits."""

Json = Mapping[str, Any]


def expert_bytes(text: Json, total_bytes: int) -> int:
    """The bytes of the experts among `total_bytes`, a low estimate; 0 if the shape is unknown."""
    hidden, layers = _number(text, "hidden_size"), _number(text, "num_hidden_layers")
    if not hidden or not layers:
        return 0
    inner = _number(text, "moe_intermediate_size", "intermediate_size")
    of_shared = _number(text, "n_shared_experts", "num_shared_experts") * inner
    shared = of_shared or _number(text, "shared_expert_intermediate_size")
    dense = _dense_layers(text) * _number(text, "dense_intermediate_size", "intermediate_size")
    parameters = (
        2 * _number(text, "vocab_size") * hidden
        + layers * (_attention(text, hidden) + 3 * hidden * shared)
        + 3 * hidden * dense
    )
    return max(0, total_bytes - OTHER_BYTES * parameters)


def _dense_layers(text: Json) -> int:
    """The number of layers without experts: the first ones, or those that a list marks with 0."""
    listed = text.get("moe_layer_freq")
    return listed.count(0) if isinstance(listed, list) else _number(text, "first_k_dense_replace")


def _attention(text: Json, hidden: int) -> int:
    """The parameters of one layer's attention; of the larger kind if there are two."""
    heads = _number(text, "num_attention_heads")
    latent = _number(text, "kv_lora_rank")
    if latent:
        rope, plain, value = (
            _number(text, key) for key in ("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
        )
        query = _number(text, "q_lora_rank")
        asked = heads * (rope + plain)
        return (
            (query * (hidden + asked) if query else hidden * asked)
            + hidden * (latent + rope)
            + latent * heads * (plain + value)
            + heads * value * hidden
        )
    head_dim = _number(text, "head_dim") or hidden // max(1, heads)
    usual = 2 * hidden * head_dim * (heads + (_number(text, "num_key_value_heads") or heads))
    keys = _number(text, "linear_num_key_heads") * _number(text, "linear_key_head_dim")
    values = _number(text, "linear_num_value_heads") * _number(text, "linear_value_head_dim")
    return max(usual, hidden * (2 * keys + 3 * values))


def _number(text: Json, *names: str) -> int:
    return next(
        (value for name in names if isinstance(value := text.get(name), int) and value > 0), 0
    )
