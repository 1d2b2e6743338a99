"""The launch plan: weights, machine and settings in, one decision for each `vllm serve` option out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapter.device import Machine
from adapter.settings import Setting, Value
from adapter.weights import Weights

LONGEST_CONTEXT_NPU = 32768
LONGEST_CONTEXT_CPU = 8192
SEQUENCES_NPU = 64
SEQUENCES_CPU = 16


@dataclass(frozen=True)
class Decision:
    """One option: its value (None leaves it to vLLM), the reason, and where that reason comes from."""

    key: str
    value: Value | None
    why: str
    source: str

    def arguments(self) -> tuple[str, ...]:
        """What it adds to the command line."""
        flag = "--" + self.key.replace("_", "-")
        if self.value is None or self.value is False:
            return ()
        if self.value is True:
            return (flag,)
        return self.value if isinstance(self.value, tuple) else (flag, str(self.value))


def make_plan(weights: Weights, machine: Machine, settings: Mapping[str, Setting]) -> tuple[Decision, ...]:
    """The decisions in the order of the command line."""
    planned = (
        _dtype(weights, machine),
        _tensor_parallel_size(weights, machine),
        _max_model_len(weights, machine),
        _max_num_seqs(machine),
        _trust_remote_code(weights),
        Decision("extra_args", None, "none asked for", "adapter.toml"),
    )
    return tuple(
        Decision(decision.key, setting.value, "decided by hand", setting.source)
        if (setting := settings.get(decision.key))
        else decision
        for decision in planned
    )


def _dtype(weights: Weights, machine: Machine) -> Decision:
    if weights.dtype in {"bfloat16", "float16"}:
        return Decision("dtype", weights.dtype, "the dtype of the weights", "config.json")
    if machine.devices and weights.dtype == "float32":
        return Decision("dtype", "bfloat16", "float32 weights, halved", "config.json")
    return Decision("dtype", None, f"the weights say {weights.dtype or 'nothing'}: vLLM chooses", "config.json")


def _tensor_parallel_size(weights: Weights, machine: Machine) -> Decision:
    key = "tensor_parallel_size"
    if not machine.devices:
        return Decision(key, 1, "no NPU on this machine", machine.source)
    if weights.attention is None:
        return Decision(key, 1, "the number of attention heads is unknown", "config.json")
    heads = weights.attention.heads
    size = max(size for size in range(1, machine.devices + 1) if heads % size == 0 and size & (size - 1) == 0)
    return Decision(key, size, f"{machine.devices} NPUs, {heads} attention heads", machine.source)


def _max_model_len(weights: Weights, machine: Machine) -> Decision:
    longest = LONGEST_CONTEXT_NPU if machine.devices else LONGEST_CONTEXT_CPU
    if weights.context is None:
        return Decision("max_model_len", None, "the weights do not say: vLLM chooses", "config.json")
    if weights.context <= longest:
        return Decision("max_model_len", weights.context, "all that the model was made for", "config.json")
    return Decision("max_model_len", longest, f"enough, of the model's {weights.context}", "adapter/plan.py")


def _max_num_seqs(machine: Machine) -> Decision:
    if machine.devices:
        return Decision("max_num_seqs", SEQUENCES_NPU, "requests at a time on NPUs", "adapter/plan.py")
    return Decision("max_num_seqs", SEQUENCES_CPU, "requests at a time without an NPU", "adapter/plan.py")


def _trust_remote_code(weights: Weights) -> Decision:
    if weights.remote_code:
        return Decision(
            "trust_remote_code", True, "has auto_map: the model brings its code", weights.remote_code[0]
        )
    return Decision("trust_remote_code", False, "no auto_map: the weights bring no code", "config.json")
