"""Numbers of a configuration: values that are not the numbers without which no engine builds the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeGuard

from healthcheck.messages import msg
from healthcheck.records import JsonValue
from healthcheck.weights.documents import JsonObject, child
from healthcheck.weights.folder import shown

COUNTS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
"""Whole numbers above zero, in every part of a configuration."""
FIGURES = (
    "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "norm_eps", "rope_theta",
    "initializer_range", "attention_dropout", "max_position_embeddings", "intermediate_size", "num_key_value_heads",
    "head_dim",
)  # fmt: skip
"""Numbers, or lists of them for each layer; null means the default."""
PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "vision_config")


def wrong(value: JsonObject, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """The keys of a configuration, and of its parts, whose value should be a number and is not.

    Each with the kind of value that is expected, and the value that is there: ("text_config.hidden_size", …).
    """
    for key in COUNTS:
        if key in value and not _is_count(value[key]):
            yield prefix + key, msg("a whole number above zero"), _said(value[key])
    for key in FIGURES:
        if value.get(key) is not None and not _are_numbers(value[key]):
            yield prefix + key, msg("a number"), _said(value[key])
    for name in PARTS if not prefix else ():
        yield from wrong(child(value, name), f"{name}.")


def _is_count(value: JsonValue) -> bool:
    """A model may give a list, one for each layer or modality."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, int) for each in value)
    return _is_number(value) and value > 0 and value == int(value)


def _are_numbers(value: JsonValue) -> bool:
    if isinstance(value, list):
        return bool(value) and all(each is None or _is_number(each) for each in value)
    if isinstance(value, dict):
        return bool(value)  # by the kind of layer, as some models have it
    return _is_number(value)


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _said(value: JsonValue) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return "null" if value is None else shown(repr(value))[:60]
