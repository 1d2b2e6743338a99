"""The number of devices that a model is spread over, and the number of copies for the other devices."""

from __future__ import annotations

from adapter.chips import A3, A310P, Chip
from adapter.decision import Decision, Refusal
from adapter.device import Machine
from adapter.limits import one_copy
from adapter.memory import GIB, LEAST_WORK_BYTES, MARGIN, Budget, Layout, cache_bytes, weight_bytes
from adapter.weights import Weights

COMFORTABLE_CONTEXT = 32768
COMFORTABLE_SEQUENCES = 4
PROMPT = 40960
"""A copy that shares its experts with others has room for at least one prompt and answer of this many tokens."""
SMALLEST_CONTEXT = 2048
RECIPES = "vllm-ascend's recipes"
COPIED_MIXTURES = {
    "DeepseekV3ForCausalLM": 4, "DeepseekV4ForCausalLM": 4, "KimiK25ForConditionalGeneration": 4,
    "Qwen3MoeForCausalLM": 4, "Qwen3VLMoeForConditionalGeneration": 4, "MiniMaxM2ForCausalLM": 4,
    "MiniMaxM3SparseForConditionalGeneration": 4, "InternVLChatModel": 4, "DeepseekV32ForCausalLM": 8,
    "Glm4MoeForCausalLM": 8, "GlmMoeDsaForCausalLM": 16, "Qwen3_5MoeForConditionalGeneration": 16,
    "Ernie4_5_MoeForCausalLM": 4,
}  # fmt: skip
"""Mixtures that recipes serve in several copies, and the fewest devices of a copy if the model is large and the
machine an A3. Copies of Qwen3.5-397B over 8 of its dies each fail in the collectives (vllm-ascend issue 9873). No
recipe has copies of ERNIE 4.5, whose attention and experts are like Qwen3's.
"""


WITHOUT_EXPERT_PARALLEL = frozenset(
    {"MixtralForCausalLM", "HunYuanMoEV1ForCausalLM", "Qwen3NextForCausalLM"}
)
"""Mixtures whose recipes split each expert over the devices."""


def tensor_parallel_size(
    weights: Weights, machine: Machine, budget: Budget | None, copies: int = 1
) -> Decision:
    """The number of devices for each of `copies` of the model: as few as leave room.

    Raises:
        Refusal: the weights are larger than the memory of all devices, or stored for more devices.
    """
    if not machine.devices:
        return _size(1, "no NPU on this machine", machine.source)
    each = machine.devices // copies
    if not each:
        raise Refusal(f"{machine.devices} device(s) do not hold {copies} copies")
    if weights.ranks > each:
        raise Refusal(
            f"the weights are stored in shards for {weights.ranks} devices; here are {each}"
        )
    if weights.ranks:
        return _size(
            weights.ranks, "the weights are stored in that many shards", "model-rank-* files"
        )
    sizes = possible_sizes(weights, each)
    if budget is None:
        return _size(
            sizes[-1], f"memory unknown: all that divide the heads, of {each}", machine.source
        )
    comfortable = _comfortable_size(weights, budget, sizes, copies)
    if comfortable is None:
        return _tight(weights, budget, Layout(sizes[-1], copies), each)
    load = weight_bytes(weights, Layout(comfortable, copies)) / GIB
    share = f"{load:.1f}" if load >= 0.1 else "less than 0.1"
    return _size(
        comfortable, f"{share} GiB of weights a device leave room for the cache", machine.source
    )


def size_of_copies(
    weights: Weights, machine: Machine, chip: Chip | None, budget: Budget | None
) -> Decision | None:
    """The devices of each copy of a large mixture on an A3, if copies share the experts; None for one copy."""
    least, attention = COPIED_MIXTURES.get(weights.architecture or "", 0), weights.attention
    if (
        one_copy(weights, machine)
        or not (chip and chip.family == A3 and budget and attention and _shares_experts(weights))
        or weights.ranks
    ):
        return None
    sizes = possible_sizes(weights, machine.devices)
    largest = _comfortable_size(weights, budget, sizes, 1) or sizes[-1]
    tokens = min(weights.context or PROMPT, PROMPT)
    for size in (size for size in sizes if least <= size < largest):
        layout = Layout(size, machine.devices // size)
        if cache_bytes(attention, tokens, size) * MARGIN <= budget.for_cache(weights, layout):
            load = weight_bytes(weights, layout) / GIB
            return _size(
                size,
                f"{load:.1f} GiB of weights a device: {layout.data} copies share experts",
                RECIPES,
            )
    return None


def data_parallel_size(
    weights: Weights, machine: Machine, chip: Chip | None, tensor: int
) -> Decision:
    """The number of copies that share the requests, so that no device is idle; None is one."""
    key, most = "data_parallel_size", machine.devices // tensor
    why = _why_one_copy(weights, machine, chip, most)
    if why:
        return Decision(key, None, f"one copy: {why}", RECIPES)
    if not weights.experts:
        return Decision(
            key, most, f"copies of {tensor} device(s) each share the requests", "vLLM's documents"
        )
    even = next(
        (count for count in range(most, 1, -1) if weights.experts % (tensor * count) == 0), None
    )
    if even is None:
        return Decision(
            key, None, f"one copy: {weights.experts} experts are not shared evenly", "config.json"
        )
    return Decision(
        key, even, f"copies of {tensor} device(s) each share requests and experts", RECIPES
    )


def _why_one_copy(weights: Weights, machine: Machine, chip: Chip | None, most: int) -> str:
    if most < 2:
        return f"it takes {machine.devices} device(s)" if machine.devices else "no NPU"
    if chip is None or not machine.hbm_mib or weights.attention is None or not weights.total_bytes:
        return "too little is known of weights and machine"
    if chip.family == A310P:
        return "no recipe has more on a 310P"
    if weights.experts and not _shares_experts(weights):
        return "no recipe has more of this mixture"
    return one_copy(weights, machine)


def _shares_experts(weights: Weights) -> bool:
    known = weights.architecture in COPIED_MIXTURES and weights.quantization in {None, "ascend"}
    return weights.experts > 0 and known


def possible_sizes(weights: Weights, devices: int) -> tuple[int, ...]:
    """The powers of two up to `devices` that vLLM accepts for the model's heads, smallest first."""
    powers = tuple(2**power for power in range(devices.bit_length()))
    shape = weights.attention
    if shape is None:
        return powers
    heads, kv_heads = shape.heads, shape.kv_heads
    return tuple(
        size
        for size in powers
        if heads % size == 0 and (kv_heads % size == 0 or size % kv_heads == 0)
    )


def expert_parallel(
    weights: Weights, machine: Machine, chip: Chip | None, layout: Layout
) -> Decision:
    """Whether whole experts are spread over the devices, instead of parts of each expert."""
    key = "enable_expert_parallel"
    if not weights.experts:
        return Decision(key, False, "no mixture of experts", "config.json")
    if not machine.devices or layout.devices == 1:
        return Decision(key, False, "one device", machine.source)
    if chip and chip.family == A310P:
        return Decision(
            key, False, "vllm-ascend refuses it on a 310P", "vllm_ascend/_310p/fused_moe"
        )
    if weights.architecture in WITHOUT_EXPERT_PARALLEL:
        return Decision(key, False, "no recipe of this mixture has it", RECIPES)
    return Decision(key, True, f"{weights.experts} experts over {layout.devices} devices", RECIPES)


def _tight(weights: Weights, budget: Budget, layout: Layout, devices: int) -> Decision:
    largest = layout.tensor
    needed = _smallest_cache(weights, largest)
    left = budget.for_cache(weights, layout)
    if left >= needed:
        return _size(
            largest, f"all that divide the heads, of {devices}: tight", "adapter/parallel.py"
        )
    if left > 0:
        raise Refusal(
            f"there are {left / GIB:.1f} GiB for the cache on each of {largest} device(s), and a short "
            f"sequence needs {needed / GIB:.1f} GiB: take more devices, or set ADAPTER_TENSOR_PARALLEL_SIZE to try "
            "all the same"
        )
    raise Refusal(
        f"the weights need {weights.total_bytes / GIB:.1f} GiB, and with {largest} device(s) there are "
        f"{largest * (budget.usable_bytes - LEAST_WORK_BYTES) / GIB:.1f} GiB for them: take a quantised "
        "version or more devices, or set ADAPTER_TENSOR_PARALLEL_SIZE to try all the same"
    )


def _comfortable_size(
    weights: Weights, budget: Budget, sizes: tuple[int, ...], copies: int
) -> int | None:
    return next(
        (size for size in sizes if _is_comfortable(weights, budget, Layout(size, copies))), None
    )


def _is_comfortable(weights: Weights, budget: Budget, layout: Layout) -> bool:
    if weight_bytes(weights, layout) > budget.weights_share * budget.torch_bytes:
        return False
    if weights.attention is None:
        return True
    context = min(weights.context or COMFORTABLE_CONTEXT, COMFORTABLE_CONTEXT)
    cache = cache_bytes(weights.attention, context, layout.tensor) * COMFORTABLE_SEQUENCES * MARGIN
    return cache <= budget.for_cache(weights, layout)


def _smallest_cache(weights: Weights, size: int) -> int:
    if weights.attention is None:
        return 0
    context = min(weights.context or SMALLEST_CONTEXT, SMALLEST_CONTEXT)
    return int(cache_bytes(weights.attention, context, size) * MARGIN)


def _size(size: int, why: str, source: str) -> Decision:
    return Decision("tensor_parallel_size", size, why, source)
