"""Numbers of a configuration: values that are not the numbers without which no engine builds the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.messages import msg
from healthcheck.records import JsonValue
from healthcheck.weights.documents import JsonObject
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A key ("text_config.hidden_size"), the expected kind of value, and the value that is there."""

    key: str
    expected: str
    seen: str


def wrong(value: JsonObject, prefix: str = "") -> Iterator[Wrong]:
    """The keys of a configuration, and of its parts, whose value should be a number and is not."""
    for key in COUNTS:
        if key in value and not _is_count(value[key]):
            yield Wrong(key=prefix + key, expected=msg("a whole number above zero"), seen=_said(value[key]))
    for key in FIGURES:
        if value.get(key) is not None and not _are_numbers(value[key]):
            yield Wrong(key=prefix + key, expected=msg("a number"), seen=_said(value[key]))
    for name in PARTS if not prefix else ():
        part = value.get(name)
        if isinstance(part, dict):
            yield from wrong(part, f"{name}.")


def _is_count(value: JsonValue) -> bool:
    """A model may give a list, one for each layer or modality."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, int) for each in value)
    return _is_number(value) and isinstance(value, int | float) and value > 0 and value == int(value)


def _are_numbers(value: JsonValue) -> bool:
    if isinstance(value, list):
        return bool(value) and all(each is None or _is_number(each) for each in value)
    if isinstance(value, dict):
        return bool(value)  # by the kind of layer, as some models have it
    return _is_number(value)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _said(value: JsonValue) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return "null" if value is None else shown(repr(value))[:60]
