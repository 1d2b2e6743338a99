"""In which numbers the model computes: the dtype, and how quantised weights are read."""

from __future__ import annotations

from adapter.chips import Chip
from adapter.decision import Decision, Refusal
from adapter.device import Machine
from adapter.weights import Weights

RUNS_ON_ASCEND = frozenset({"ascend", "compressed-tensors", "fp8", "deepseek_v4_fp8", "modelopt_mxfp8", "mxfp8"})
"""The methods that vllm-ascend's platform accepts."""


def dtype(weights: Weights, machine: Machine, chip: Chip | None) -> Decision:
    """float16 if the chip has no bfloat16; else that of the weights, in 16 bits."""
    key, stored = "dtype", weights.dtype
    if chip and not chip.bfloat16:
        return Decision(key, "float16", f"{chip.name} does not compute in bfloat16", "torch_npu")
    if chip and weights.quantization == "ascend":
        return Decision(key, "bfloat16", "W8A8 kernels fail with float16 here", "vllm-ascend issue 12907")
    if stored in {"bfloat16", "float16"}:
        return Decision(key, stored, "the dtype of the weights", "config.json")
    if chip and stored == "float32":
        return Decision(key, "bfloat16", "float32 weights, halved", "config.json")
    where = "" if machine.devices else " for this machine"
    return Decision(key, None, f"the weights say {stored or 'nothing'}: vLLM chooses{where}", "config.json")


def quantization(weights: Weights, machine: Machine) -> Decision:
    """`ascend` for weights that ModelSlim has quantised; vLLM finds other methods in config.json itself.

    Raises:
        Refusal: vllm-ascend does not run the method.
    """
    key, method = "quantization", weights.quantization
    if method is None:
        return Decision(key, None, "the weights are not quantised", "config.json")
    if method == "ascend":
        return Decision(key, "ascend", "quantised by ModelSlim", "quant_model_description.json")
    if machine.devices and method not in RUNS_ON_ASCEND:
        raise Refusal(
            f"vllm-ascend runs {', '.join(sorted(RUNS_ON_ASCEND))} weights, not {method:.38}: "
            "take other weights, or set ADAPTER_QUANTIZATION"
        )
    return Decision(key, None, f"vLLM finds {method} in the configuration", "config.json")
