"""The model's number formats: the dtype, and how quantised weights are read."""

from __future__ import annotations

import re
from dataclasses import replace

from adapter.chips import A950, Chip
from adapter.decision import Decision, Refusal
from adapter.device import Machine, release_of
from adapter.weights import Weights

RUNS_ON_ASCEND = frozenset(
    {"ascend", "compressed-tensors", "fp8", "deepseek_v4_fp8", "modelopt_mxfp8", "mxfp8"}
)
"""The methods that the newest vllm-ascend accepts; a test of the kit compares them with its catalogue."""
KEEPS_FP8 = frozenset({"DeepseekV4ForCausalLM", "DeepseekV41ForCausalLM"})
MINIMAX = "MiniMaxM2ForCausalLM"
READS_FP8 = KEEPS_FP8 | {MINIMAX}
"""Until 0.26, its code for FP8 reads a key of DeepSeek-V4 (issue 14467); MiniMax-M2's weights become bfloat16."""
READS_ALL_FP8_FROM = (0, 27)
NOT_OF_MINIMAX = re.compile(r"0\.(21|22|24|25|26)\..*|0\.23\.0rc.*")
"""Releases that detect MiniMax-M2's weights as FP8 again, and read that key (issue 12685)."""
OF_950 = frozenset({"mxfp8", "modelopt_mxfp8"})


def as_loaded(weights: Weights, chip: Chip | None) -> Weights:
    """The weights with their sizes on the device: chips before the 950 expand FP8 to 16 bits."""
    kept = weights.architecture in KEEPS_FP8
    if weights.quantization != "fp8" or kept or chip is None or chip.family == A950:
        return weights
    stored = weights.total_bytes
    # Parameters outside the experts are counted in 16 bits already.
    experts = weights.expert_bytes + stored if weights.expert_bytes else 0
    return replace(weights, total_bytes=2 * stored, expert_bytes=experts)


def dtype(weights: Weights, machine: Machine, chip: Chip | None) -> Decision:
    """float16 if the chip has no bfloat16; else the dtype of the weights, in 16 bits."""
    key, stored = "dtype", weights.dtype
    if chip and not chip.bfloat16:
        return Decision(key, "float16", f"{chip.name} does not compute in bfloat16", "torch_npu")
    if chip and weights.quantization == "ascend":
        return Decision(
            key, "bfloat16", "W8A8 kernels fail with float16 here", "vllm-ascend issue 12907"
        )
    if stored in {"bfloat16", "float16"}:
        return Decision(key, stored, "the dtype of the weights", "config.json")
    if chip and stored == "float32":
        return Decision(key, "bfloat16", "float32 weights, halved", "config.json")
    where = "" if machine.devices else " for this machine"
    return Decision(
        key, None, f"the weights say {stored or 'nothing'}: vLLM chooses{where}", "config.json"
    )


def quantization(weights: Weights, machine: Machine, chip: Chip | None) -> Decision:
    """`ascend` for weights that ModelSlim has quantised; vLLM detects other methods in config.json itself.

    Raises:
        Refusal: vllm-ascend does not run the method, or not for this architecture or on this chip.
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
    reads_all_fp8 = release_of(machine)[:2] >= READS_ALL_FP8_FROM
    if chip and method == "fp8" and weights.architecture not in READS_FP8 and not reads_all_fp8:
        raise Refusal(
            "vllm-ascend before 0.27 runs FP8 weights of DeepSeek-V4 and MiniMax-M2 alone (issue 14467): "
            "take bfloat16 or ModelSlim weights, or set ADAPTER_QUANTIZATION"
        )
    if (
        chip
        and method == "fp8"
        and weights.architecture == MINIMAX
        and NOT_OF_MINIMAX.fullmatch(machine.release)
    ):
        raise Refusal(
            f"vllm-ascend {machine.release} does not run FP8 weights of MiniMax-M2, 0.23.0 does (issue 12685): "
            "take bfloat16 or ModelSlim weights, or set ADAPTER_QUANTIZATION"
        )
    if chip and method in OF_950 and chip.family != A950:
        raise Refusal(
            f"{method} weights run on a 950 alone, not on a {chip.name}: take others, or set ADAPTER_QUANTIZATION"
        )
    return Decision(key, None, f"vLLM finds {method} in the configuration", "config.json")
