"""The size of the service: context, sequences, memory, inputs, and the special options of a chip."""

from __future__ import annotations

import json
from dataclasses import dataclass

from adapter.chips import A310P, Chip
from adapter.decision import Decision
from adapter.device import Machine
from adapter.memory import GIB, MARGIN, cache_bytes, longest_context, longest_mask
from adapter.weights import Weights

UTILIZATION = 0.9
LONGEST_NPU, LONGEST_310P, LONGEST_CPU = 40960, 20480, 8192
LONGER_NPU, LONGER_SEQUENCES = (131072, 65536), 2
"""A longer context, if the cache holds this many sequences of that length."""
SEQUENCES_NPU, SEQUENCES_310P, SEQUENCES_HYBRID_310P, SEQUENCES_CPU = 128, 32, 16, 16
"""At most; fewer on a 310P for mixtures with linear attention, as in the recipe of Qwen3.6-35B-A3B."""
TYPICAL_TOKENS = 2048
CPU_CACHE_BYTES = 4 * GIB
DOCUMENTS = "vllm-ascend's documents"
PER_PROMPT = {"image": 8, "audio": 1}


@dataclass(frozen=True)
class Room:
    """What the cache has on each of `parallel` devices, and for which weights; `cache` is None if unknown."""

    weights: Weights
    machine: Machine
    chip: Chip | None
    parallel: int
    cache: int | None

    def of(self, npu: int, old: int, cpu: int) -> int:
        """The figure for this machine: an NPU, a 310P, or a CPU."""
        if not self.machine.devices:
            return cpu
        return old if self.chip and self.chip.family == A310P else npu


def gpu_memory_utilization(machine: Machine) -> Decision:
    """The share of the memory that vLLM may take."""
    if machine.devices:
        return Decision(
            "gpu_memory_utilization", UTILIZATION, "leaves a tenth to the runtime", DOCUMENTS
        )
    return Decision("gpu_memory_utilization", None, "no NPU", machine.source)


def max_model_len(room: Room) -> Decision:
    """The longest prompt and answer together: the least of the model's, an evaluation's, and what fits.

    Long rather than short: a request whose max_tokens exceeds it is refused.
    """
    key, context = "max_model_len", room.weights.context
    longest = _longest(room)
    attention = room.weights.attention
    cache = room.cache if room.machine.devices else CPU_CACHE_BYTES
    if attention and cache is not None:
        fits = max(256, longest_context(attention, cache, room.parallel))
        if fits < min(context or longest, longest):
            return Decision(
                key, fits, f"one sequence fits, of the model's {context}", "adapter/memory.py"
            )
    if context is None:
        if room.chip and room.chip.family == A310P:
            return Decision(key, longest, "its attention mask grows with the square", DOCUMENTS)
        return Decision(key, None, "the weights do not say: vLLM chooses", "config.json")
    if context <= longest:
        return Decision(key, context, "all that the model was made for", "config.json")
    return Decision(
        key, longest, f"enough for an evaluation, of the model's {context}", "adapter/serving.py"
    )


def _longest(room: Room) -> int:
    """The context that an evaluation needs: reasoning takes tens of thousands of tokens, more than most need."""
    longest = room.of(LONGEST_NPU, LONGEST_310P, LONGEST_CPU)
    if room.chip and room.chip.family == A310P and room.machine.hbm_mib:
        return min(longest, longest_mask(room.machine.hbm_mib, UTILIZATION))
    attention, cache = room.weights.attention, room.cache
    if attention is None or cache is None or longest != LONGEST_NPU:
        return longest
    room_of_one = cache / LONGER_SEQUENCES / MARGIN
    return next(
        (n for n in LONGER_NPU if cache_bytes(attention, n, room.parallel) <= room_of_one),
        LONGEST_NPU,
    )


def max_num_seqs(room: Room, longest: int) -> Decision:
    """Requests at a time: as many as the cache holds at a typical length, of `longest` at most; the others wait."""
    attention = room.weights.attention
    hybrid = attention and attention.linear_layers and room.weights.experts
    old = SEQUENCES_HYBRID_310P if hybrid else SEQUENCES_310P
    key, most = "max_num_seqs", room.of(SEQUENCES_NPU, old, SEQUENCES_CPU)
    if not room.machine.devices:
        return Decision(key, most, "a modest number without an NPU", "adapter/serving.py")
    if not attention or room.cache is None:
        return Decision(key, most // 2, "a usual number on NPUs", DOCUMENTS)
    tokens = min(TYPICAL_TOKENS, longest)
    fit = int(room.cache / (cache_bytes(attention, tokens, room.parallel) * MARGIN))
    number = max(1, min(most, 2 ** max(0, fit.bit_length() - 1) if fit > 0 else 1))
    return Decision(
        key,
        number,
        f"the cache holds {max(fit, 0)} sequences of {tokens} tokens",
        "adapter/memory.py",
    )


def max_num_batched_tokens(machine: Machine, chip: Chip | None) -> Decision:
    """Tokens of one step: longer prompts are split into pieces of this size."""
    key = "max_num_batched_tokens"
    if machine.devices and not (chip and chip.family == A310P):
        return Decision(key, 8192, "the least that is recommended on NPUs", DOCUMENTS)
    return Decision(key, None, "vLLM chooses", "adapter/serving.py")


def trust_remote_code(weights: Weights) -> Decision:
    """--trust-remote-code, only if the weights name code of their own."""
    if weights.remote_code:
        return Decision(
            "trust_remote_code", True, "auto_map: the model brings its code", weights.remote_code[0]
        )
    return Decision(
        "trust_remote_code", False, "no auto_map: the weights bring no code", "config.json"
    )


def for_modalities(weights: Weights, machine: Machine) -> tuple[Decision, ...]:
    """The number of images, videos and sounds in a prompt, which is also what vLLM reserves memory for."""
    if not weights.modalities or not machine.devices:
        why, source = (
            ("no NPU", machine.source) if weights.modalities else ("text only", "config.json")
        )
        return (
            Decision("limit_mm_per_prompt", None, why, source),
            Decision("mm_processor_cache_gb", None, why, source),
        )
    # A video takes the memory of a long one. Only models with sound get a limit for any mix of inputs.
    videos = 1 if "audio" in weights.modalities else 0
    limits = {name: {**PER_PROMPT, "video": videos}[name] for name in weights.modalities}
    why = "vLLM keeps memory for as many" + (
        "; a task of images has no videos" if videos == 0 else ""
    )
    return (
        Decision("limit_mm_per_prompt", json.dumps(limits), why, DOCUMENTS),
        Decision("mm_processor_cache_gb", 0, "every input comes once: nothing to keep", DOCUMENTS),
    )
