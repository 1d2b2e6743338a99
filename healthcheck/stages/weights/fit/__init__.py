"""Whether the devices hold the model, and whether the release loads its weights there.

The rest of the kit imports these names from the package, and none of its modules:

| question | modules, from the bottom |
|---|---|
| what is loaded, and in which number format? | `experts`, `load`, `named_schemes` |
| what does a device hold? | `memory`, `demand`, `room`, `states` |
| which findings follow? | `quantization`, `attention` |
"""

from healthcheck.stages.weights.fit.attention import has_attention_options, judge_attention
from healthcheck.stages.weights.fit.demand import (
    YARN_WITH_FACTOR_SINCE,
    Demand,
    longest_context,
    read_demand,
    read_layout,
    stretched_context,
)
from healthcheck.stages.weights.fit.experts import has_experts, is_dense
from healthcheck.stages.weights.fit.load import fp8_beside_schemes, read_load
from healthcheck.stages.weights.fit.memory import (
    BLOCK_TOKENS,
    MASK_BYTES,
    OVERHEAD_BYTES,
    Cached,
    Shape,
    cache_per_sequence,
    longest_sequence,
    read_shape,
    weights_per_device,
)
from healthcheck.stages.weights.fit.named_schemes import (
    Layer,
    NamedScheme,
    compressed_tensors_schemes,
    modelslim_schemes,
    schemes_of_method,
)
from healthcheck.stages.weights.fit.quantization import judge_quantization
from healthcheck.stages.weights.fit.room import room_of
from healthcheck.stages.weights.fit.states import bytes_per_state_block, sequences_with_state

__all__ = [
    "BLOCK_TOKENS",
    "MASK_BYTES",
    "OVERHEAD_BYTES",
    "YARN_WITH_FACTOR_SINCE",
    "Cached",
    "Demand",
    "Layer",
    "NamedScheme",
    "Shape",
    "bytes_per_state_block",
    "cache_per_sequence",
    "compressed_tensors_schemes",
    "fp8_beside_schemes",
    "has_attention_options",
    "has_experts",
    "is_dense",
    "judge_attention",
    "judge_quantization",
    "longest_context",
    "longest_sequence",
    "modelslim_schemes",
    "read_demand",
    "read_layout",
    "read_load",
    "read_shape",
    "room_of",
    "schemes_of_method",
    "sequences_with_state",
    "stretched_context",
    "weights_per_device",
]
