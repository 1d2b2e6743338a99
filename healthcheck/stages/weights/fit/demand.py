"""Reads what deploy.sh needs of the devices: size and shape of the model, parallelism, context length."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.ascend import stacks
from healthcheck.core.check import NotApplicable
from healthcheck.stages.plan.servers.options import tokens
from healthcheck.stages.weights.documents import JsonObject, child, integer, positive, text_of
from healthcheck.stages.weights.fit.load import Load, read_load
from healthcheck.stages.weights.fit.memory import Layout, Shape, read_shape
from healthcheck.stages.weights.records import WeightsFacts
from healthcheck.text.messages import msg

UTILIZATION = 0.9
NOT_LONGER = frozenset({"su", "longrope", "llama3"})
"""Kinds of rotary embeddings that do not lengthen the context."""
MOST_LONGER = 10_000
YARN_WITH_FACTOR_SINCE = "0.30.0"
"""The vLLM release from which on max_position_embeddings is expected to contain YaRN's factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The model to serve, and its parallelism.

    Attributes:
        context: tokens of the longest sequence, None if unknown; `context_source` names the origin.
        utilization: the share of a device's memory that the engine may use.
        release: the release of vllm-ascend.
    """

    load: Load
    shape: Shape | None
    layout: Layout
    context: int | None
    context_source: str
    utilization: float
    release: str


def read_demand(facts: WeightsFacts) -> Demand:
    load = read_load(facts)
    if not load.total_bytes:
        raise NotApplicable(msg("no weights whose size could be read"))
    shape = read_shape(facts.weights.text_config) or read_shape(facts.weights.params.value)
    length = facts.option("max-model-len") or ""
    context = tokens(length)
    source = (
        msg("--max-model-len {value}", value=length) if context else msg("the model's own length")
    )
    return Demand(
        load=load,
        shape=shape,
        layout=read_layout(facts),
        context=context or longest_context(facts, shape) or (shape.context if shape else None),
        context_source=source,
        utilization=_fraction(facts.option("gpu-memory-utilization", "mem-fraction-static")),
        release=facts.row.vllm_ascend,
    )


def read_layout(facts: WeightsFacts) -> Layout:
    """Read from the server's options how the model is distributed over devices."""
    tensor = facts.option("tensor-parallel-size", "tp", "tp-size")
    if tensor is None and facts.plan is None:
        tensor = str(facts.npus or 1)
    number_bytes = 1 if (facts.option("kv-cache-dtype") or "").startswith(("fp8", "int8")) else 2
    return Layout(
        tensor=_count(tensor),
        pipeline=_count(facts.option("pipeline-parallel-size", "pp", "pp-size")),
        data=_count(facts.option("data-parallel-size", "dp", "dp-size")),
        prefill_context=_count(facts.option("prefill-context-parallel-size", "pcp")),
        experts=facts.option("enable-expert-parallel") is not None,
        cache_number_bytes=number_bytes,
    )


def _count(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and 0 < int(text) < 10_000 else 1


def _fraction(text: str | None) -> float:
    try:
        value = float(text or UTILIZATION)
    except ValueError:
        return UTILIZATION
    return value if 0 < value <= 1 else UTILIZATION


def longest_context(facts: WeightsFacts, shape: Shape | None) -> int | None:
    """The longest context that vLLM accepts for the model; None if it is unknown.

    Source: _get_and_verify_max_len in vllm/config/model.py: the configuration's length, scaled by its rotary
    embeddings, or its model_max_length. That of tokenizer_config.json counts for some embedders alone.
    """
    config = facts.weights.text_config
    if (
        shape is None
        or shape.context is None
        or facts.overrides is None
        or facts.option("rope-scaling")
    ):
        return None
    scaled, own = (
        _scaled(config, shape.context, facts.row.vllm[0]),
        integer(config.get("model_max_length")) or 0,
    )
    return None if scaled is None else max(scaled, own)


def stretched_context(facts: WeightsFacts, shape: Shape | None) -> int:
    """The context that the rotary embeddings are made for, whatever the release makes of it; 0 if it is unknown."""
    context = shape.context if shape else None
    return (_scaled(facts.weights.text_config, context, "") or 0) if context else 0


def _scaled(config: JsonObject, context: int, vllm: str) -> int | None:
    """The context with what rotary embeddings add; None if their figures are odd."""
    if "gemma3" in text_of(config.get("model_type")):
        return context
    scaling = child(config, "rope_parameters", "rope_scaling")
    factor: object = 1
    for each in [value for value in scaling.values() if isinstance(value, dict)] or [scaling]:
        kind = text_of(each.get("rope_type")) or text_of(each.get("type"))
        if kind in NOT_LONGER or (
            "yarn" in kind and vllm and not stacks.is_older(vllm, YARN_WITH_FACTOR_SINCE)
        ):
            continue
        factor = each.get("factor", factor)
        context = (
            (positive(each, "original_max_position_embeddings") or context)
            if kind == "yarn"
            else context
        )
    return (
        int(context * factor)
        if isinstance(factor, (int, float)) and 1 <= factor <= MOST_LONGER
        else None
    )
