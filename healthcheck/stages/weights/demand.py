"""Reads what deploy.sh needs of the devices: size and shape of the model, parallelism, context length."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.core.check import NotApplicable
from healthcheck.stages.plan.servers.options import tokens
from healthcheck.stages.weights.documents import JsonObject, child, integer, text_of
from healthcheck.stages.weights.facts import WeightsFacts
from healthcheck.stages.weights.load import Load, read_load
from healthcheck.stages.weights.memory import Layout, Shape, read_shape
from healthcheck.text.messages import msg

UTILIZATION = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The model to serve, and its parallelism.

    Attributes:
        context: tokens of the longest sequence, None if unknown; `context_source` names the origin.
        utilization: the share of a device's memory that the engine may use.
    """

    load: Load
    shape: Shape | None
    layout: Layout
    context: int | None
    context_source: str
    utilization: float


def read_demand(facts: WeightsFacts) -> Demand:
    load = read_load(facts)
    if not load.total_bytes:
        raise NotApplicable(msg("no weights whose size could be read"))
    shape = read_shape(facts.weights.text_config) or read_shape(facts.weights.params.value)
    length = facts.option("max-model-len") or ""
    context = tokens(length)
    source = msg("--max-model-len {value}", length) if context else msg("the model's own length")
    return Demand(
        load=load,
        shape=shape,
        layout=read_layout(facts),
        context=context or longest_context(facts, shape) or (shape.context if shape else None),
        context_source=source,
        utilization=_fraction(facts.option("gpu-memory-utilization", "mem-fraction-static")),
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
    """The longest context that vLLM accepts for the model; None if it is unknown or scaled.

    Source: _get_and_verify_max_len in vllm/config/model.py, 0.23.0: the configuration's length, at most
    model_max_length of tokenizer_config.json; model_max_length of config.json overrides both.
    """
    config = facts.weights.text_config
    if shape is None or shape.context is None or _scales(config) or facts.option("hf-overrides", "rope-scaling"):
        return None
    tokenizer = integer(facts.weights.tokenizer.config.value.get("model_max_length"))
    own = integer(config.get("model_max_length")) or 0
    return max(min(shape.context, tokenizer or shape.context), own)


def _scales(config: JsonObject) -> bool:
    """Whether scaled rotary embeddings lengthen the context."""
    scaling = child(config, "rope_scaling", "rope_parameters")
    nested = [value for value in scaling.values() if isinstance(value, dict)] or [scaling]
    kinds = {text_of(each.get("rope_type")) or text_of(each.get("type")) for each in nested}
    return bool(kinds - {"", "default", "su", "longrope", "llama3", "mrope"})
