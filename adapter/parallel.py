"""Over how many devices a model is spread: as few as leave room, and only sizes that divide its heads."""

from __future__ import annotations

from adapter.decision import Decision, Refusal
from adapter.device import Machine
from adapter.memory import GIB, LEAST_WORK_BYTES, MARGIN, Budget, cache_bytes
from adapter.weights import Weights

WEIGHTS_SHARE = 0.45
"""Weights take at most this share of a device's memory where more devices are to be had: Qwen3-8B on one 64 GB
device, 14B on two, 32B on four, as vllm-ascend's documents launch them."""
COMFORTABLE_CONTEXT = 32768
COMFORTABLE_SEQUENCES = 4
SMALLEST_CONTEXT = 2048


def tensor_parallel_size(weights: Weights, machine: Machine, budget: Budget | None) -> Decision:
    """The number of devices that one copy of the model is spread over.

    Raises:
        Refusal: the weights are larger than the memory of all of them, or stored for more of them.
    """
    if not machine.devices:
        return _size(1, "no NPU on this machine", machine.source)
    if weights.ranks > machine.devices:
        raise Refusal(f"the weights are stored in shards for {weights.ranks} devices; here are {machine.devices}")
    if weights.ranks:
        return _size(weights.ranks, "the weights are stored in that many shards", "model-rank-* files")
    sizes = possible_sizes(weights, machine.devices)
    if budget is None:
        return _size(sizes[-1], f"memory unknown: all that divide the heads, of {machine.devices}", machine.source)
    comfortable = next((size for size in sizes if _is_comfortable(weights, budget, size)), None)
    if comfortable:
        load = weights.total_bytes / comfortable / GIB
        return _size(comfortable, f"{load:.1f} GiB of weights a device leave room for the cache", machine.source)
    largest = sizes[-1]
    needed = _smallest_cache(weights, largest)
    if budget.for_cache(weights, largest) >= needed:
        return _size(largest, f"all that divide the heads, of {machine.devices}: tight", machine.source)
    left = budget.for_cache(weights, largest)
    if left > 0:
        raise Refusal(
            f"the weights leave {left / GIB:.1f} GiB for the cache on each of {largest} device(s), and a short "
            f"sequence needs {needed / GIB:.1f} GiB: take more devices, or set ADAPTER_TENSOR_PARALLEL_SIZE to try "
            "all the same"
        )
    raise Refusal(
        f"the weights need {weights.total_bytes / GIB:.1f} GiB, and with {largest} device(s) there are "
        f"{largest * (budget.usable_bytes - LEAST_WORK_BYTES) / GIB:.1f} GiB for them: take a quantised "
        "version or more devices, or set ADAPTER_TENSOR_PARALLEL_SIZE to try all the same"
    )


def possible_sizes(weights: Weights, devices: int) -> tuple[int, ...]:
    """The powers of two up to `devices` that vLLM accepts for the model's heads, smallest first."""
    powers = tuple(2**power for power in range(devices.bit_length()))
    shape = weights.attention
    if shape is None:
        return powers
    heads, kv_heads = shape.heads, shape.kv_heads
    return tuple(size for size in powers if heads % size == 0 and (kv_heads % size == 0 or size % kv_heads == 0))


def expert_parallel(weights: Weights, machine: Machine, size: int) -> Decision:
    """Experts are spread over the devices whole, rather than each cut into pieces."""
    key = "enable_expert_parallel"
    if not weights.experts:
        return Decision(key, False, "no mixture of experts", "config.json")
    if not machine.devices or size == 1:
        return Decision(key, False, "one device", machine.source)
    return Decision(key, True, f"{weights.experts} experts over {size} devices", "vllm-ascend's MoE tutorials")


def _is_comfortable(weights: Weights, budget: Budget, size: int) -> bool:
    if weights.total_bytes / size > WEIGHTS_SHARE * budget.torch_bytes:
        return False
    if weights.attention is None:
        return True
    context = min(weights.context or COMFORTABLE_CONTEXT, COMFORTABLE_CONTEXT)
    cache = cache_bytes(weights.attention, context, size) * COMFORTABLE_SEQUENCES * MARGIN
    return cache <= budget.for_cache(weights, size)


def _smallest_cache(weights: Weights, size: int) -> int:
    if weights.attention is None:
        return 0
    context = min(weights.context or SMALLEST_CONTEXT, SMALLEST_CONTEXT)
    return int(cache_bytes(weights.attention, context, size) * MARGIN)


def _size(size: int, why: str, source: str) -> Decision:
    return Decision("tensor_parallel_size", size, why, source)
