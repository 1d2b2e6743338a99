"""The memory that a launch needs on each device, and what remains for the key-value cache. Sizes in bytes.

The cache is counted as vLLM's KV cache specifications do: two tensors (keys, values) of kv_heads × head_dim per
token and layer, or one of the latent width for MLA; at most a window for sliding layers; a fixed state for linear
ones. Sparse attention also keeps an index, whole on every device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from adapter.chips import A310P, Chip
from adapter.device import Machine
from adapter.weights import Attention, Weights

MIB, GIB = 2**20, 2**30
CACHE_ELEMENT_BYTES = 2
PREFILL_TOKENS = 8192
"""Tokens that one step may add to a sliding window before the window moves on."""
LINEAR_STATE_BYTES = 2 * MIB
"""The state of one sequence in a layer of linear attention, roughly: 32 heads of 128 × 128, and a convolution."""
WEIGHTS_SHARE = 0.45
"""Weights take at most this share of a device's memory if there are more devices: Qwen3-8B on one 64 GB device, 14B
on two, 32B on four, as vllm-ascend's documents launch them.
"""
WEIGHTS_SHARE_310P = 0.25
"""There, a 27B in W8A8 on four devices, as in the recipe: no copies share the others, and the mask takes memory."""
LEAST_WORK_BYTES = 2 * GIB
MASK_BYTES = 6
MARGIN = 1.25
"""A reserve for cache blocks, replicated small tensors and fragmentation, which the estimate leaves out."""


def cache_bytes(attention: Attention, tokens: int, parallel: int) -> int:
    """The key-value cache of one sequence of `tokens` tokens on each of `parallel` devices, in bytes."""
    if attention.latent:
        token_layer = attention.latent * CACHE_ELEMENT_BYTES
    else:
        heads = max(1, attention.kv_heads // parallel)
        token_layer = 2 * heads * attention.head_dim * CACHE_ELEMENT_BYTES
    token_layer += attention.index * CACHE_ELEMENT_BYTES
    full_layers = attention.layers - attention.sliding_layers - attention.linear_layers
    seen = min(tokens, attention.window + PREFILL_TOKENS)
    state = attention.linear_layers * LINEAR_STATE_BYTES // parallel
    return state + token_layer * (full_layers * tokens + attention.sliding_layers * seen)


@dataclass(frozen=True)
class Layout:
    """`data` copies of the model, each spread over `tensor` devices."""

    tensor: int
    data: int = 1

    @property
    def devices(self) -> int:
        return self.tensor * self.data


def weight_bytes(weights: Weights, layout: Layout) -> int:
    """The weights on each device, in bytes: copies share the experts, and each has everything else."""
    return (
        weights.total_bytes - weights.expert_bytes
    ) // layout.tensor + weights.expert_bytes // layout.devices


@dataclass(frozen=True)
class Budget:
    """The memory of each device: what torch sees, the part that vLLM may take, the part of that for work.

    `weights_share` is the most of it that weights take if there are more devices. `cache_share` is what the cache
    gets of the rest: half on a 310P (vllm_ascend/_310p/worker_310p.py).
    """

    torch_bytes: int
    usable_bytes: int
    work_bytes: int
    weights_share: float = WEIGHTS_SHARE
    cache_share: float = 1.0

    def for_cache(self, weights: Weights, layout: Layout) -> int:
        """The cache on each device, in bytes, of what the weights leave; negative if they do not fit.

        If memory is short, work gets half of the rest, so that a launch that may succeed is not given up.
        """
        left = self.usable_bytes - weight_bytes(weights, layout)
        return int(
            (left - min(self.work_bytes, max(LEAST_WORK_BYTES, left // 2))) * self.cache_share
        )


def budget_of(
    machine: Machine, chip: Chip | None, weights: Weights, utilization: float
) -> Budget | None:
    """The memory of one device of the machine; None if its size is unknown.

    Work is activations, graphs and the runtime: a tenth, 2 GiB at least; 2 GiB more for the communication buffers
    of expert parallelism (HCCL_BUFFSIZE twice) and for an encoder of images or sound.
    """
    if chip is None or not machine.hbm_mib:
        return None
    torch_bytes = (machine.hbm_mib - chip.reserved_mib) * MIB
    extras = (weights.experts > 0) + bool(weights.modalities)
    return Budget(
        torch_bytes=torch_bytes,
        usable_bytes=int(torch_bytes * utilization),
        work_bytes=max(LEAST_WORK_BYTES, torch_bytes // 10) + extras * 2 * GIB,
        weights_share=WEIGHTS_SHARE_310P if chip.family == A310P else WEIGHTS_SHARE,
        cache_share=0.5 if chip.family == A310P else 1.0,
    )


def longest_mask(hbm_mib: int, utilization: float) -> int:
    """The context whose attention mask a 310P has room for, in steps of 256.

    Until torch_npu 2.10.0.post4 the mask has context × context values, 6 bytes each while it is made. It is made
    after the start, beside the share of the memory that vLLM has taken.
    """
    beside = hbm_mib * MIB * (1 - utilization)
    return math.isqrt(int(beside / MASK_BYTES)) // 256 * 256


def longest_context(attention: Attention, room_bytes: int, parallel: int) -> int:
    """The tokens of one sequence that fit in `room_bytes` of cache, in steps of 256; 0 if none."""
    low, high = 0, 2**22
    while high - low > 256:
        tokens = (low + high) // 2
        fits = cache_bytes(attention, tokens, parallel) * MARGIN <= room_bytes
        low, high = (tokens, high) if fits else (low, tokens)
    return low // 256 * 256
