"""How much device memory a model takes: its weights, and the key-value cache of a sequence. Plain arithmetic.

Per device, with T = tensor parallel size and P = pipeline parallel size:
    weights  = bytes / (T × P); with expert parallelism routed experts are also divided by the data parallel size,
               all else is there once for each data parallel rank
    cache    = per cached token and layer: 2 × ⌈kv_heads / T⌉ × head_size × bytes of a number,
               or with latent attention: latent × bytes of a number, on every device (T does not divide it);
               with sparse attention also its index, likewise
    layers   = ⌈layers / P⌉ of the fullest stage; a window layer caches at most `window` tokens
Source: vLLM's AttentionSpec, MLAAttentionSpec and SlidingWindowSpec (v1/kv_cache_interface.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from healthcheck.weights.shape import Cached, Shape

OVERHEAD_BYTES = 2 * 2**30
"""Activations of the profiling run, graphs and communication buffers: an estimate, from logs of 910B machines."""
BLOCK_TOKENS = 128
"""vllm-ascend's cache block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a model is spread over devices, and in which numbers it caches."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    experts: bool = False
    cache_number_bytes: int = 2

    @property
    def devices(self) -> int:
        return self.tensor * self.pipeline * self.data


def weights_per_device(total_bytes: int, expert_bytes: int, layout: Layout) -> int:
    """Bytes of weights on one device."""
    stages = layout.tensor * layout.pipeline
    if not layout.experts:
        return math.ceil(total_bytes / stages)
    return math.ceil((total_bytes - expert_bytes) / stages + expert_bytes / (stages * layout.data))


def cache_per_sequence(shape: Shape, tokens: int, layout: Layout) -> int:
    """Bytes of key-value cache that one sequence of `tokens` takes on one device."""
    entry = shape.latent or 2 * math.ceil(shape.kv_heads / layout.tensor) * shape.head_size
    per_token = (entry + shape.index) * layout.cache_number_bytes
    full = shape.layers.count(Cached.FULL) * tokens
    windowed = shape.layers.count(Cached.WINDOW) * min(tokens, shape.window or tokens)
    return math.ceil((full + windowed) / layout.pipeline) * per_token


def longest_sequence(shape: Shape, room_bytes: int, layout: Layout, limit: int) -> int:
    """The longest sequence, in whole blocks and at most `limit`, whose cache fits; 0 if not one block does."""
    low, high = 0, limit // BLOCK_TOKENS
    while low < high:
        middle = (low + high + 1) // 2
        if cache_per_sequence(shape, middle * BLOCK_TOKENS, layout) <= room_bytes:
            low = middle
        else:
            high = middle - 1
    whole = low * BLOCK_TOKENS
    return (
        limit if whole + BLOCK_TOKENS > limit and cache_per_sequence(shape, limit, layout) <= room_bytes else whole
    )
