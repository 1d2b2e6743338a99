"""Determines size, dtype and quantisation of the weights that an engine would load."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from healthcheck.ascend import schemes
from healthcheck.ascend.hardware import Family
from healthcheck.stages.weights.documents import text_of
from healthcheck.stages.weights.fit import experts
from healthcheck.stages.weights.inventory import Format, of_format
from healthcheck.stages.weights.records import DESCRIPTION, Weights, WeightsFacts
from healthcheck.stages.weights.safetensors import BITS
from healthcheck.text.messages import msg

HALF = {"F16": "float16", "BF16": "bfloat16"}
FLOATS = {"F32", "F64", "F16", "BF16"}
FP8 = "F8_E4M3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The weights that are loaded.

    Attributes:
        total_bytes: size of all tensors on the device, after the conversion to the engine's number format.
        expert_bytes: size of the routed experts, from the tensor names or else from the configuration.
        stored: number formats of the files, by their share of the bytes, the largest first.
        dtype: the number format that the engine computes in: "float16", "bfloat16", "float32" or "".
        dtype_source: the file and key with the dtype.
        quantization: "ascend", "compressed-tensors", "awq" …; "" for weights without quantisation.
        quantization_source: the file and key with the quantisation.
    """

    total_bytes: int
    expert_bytes: int
    stored: tuple[str, ...]
    dtype: str
    dtype_source: str
    quantization: str
    quantization_source: str


def read_load(facts: WeightsFacts) -> Load:
    weights = facts.weights
    dtype, dtype_source = _dtype(facts)
    width = 4 if dtype == "float32" else 2
    quantization, quantization_source = _quantization(weights)
    expands = quantization == "fp8" and _expands_fp8(facts)
    total, routed = 0, 0
    stored = Counter[str]()
    for tensor in weights.tensors:
        size = tensor.end - tensor.start
        stored[tensor.dtype] += size
        wider = tensor.dtype in FLOATS and BITS[tensor.dtype] // 8 > width
        size = tensor.elements * width if wider or (expands and tensor.dtype == FP8) else size
        total += size
        routed += size if ".experts." in tensor.name else 0
    if not total:
        files = of_format(weights.files, Format.PICKLE) or of_format(weights.files, Format.GGUF)
        total = sum(entry.size_bytes for entry in files) or weights.announced_bytes or 0
    formats = tuple(name for name, _ in stored.most_common())
    if not dtype and formats and formats[0] in HALF:
        dtype, dtype_source = (
            HALF[formats[0]],
            msg("{largest} tensors in the files", largest=formats[0]),
        )
    return Load(
        total_bytes=total,
        expert_bytes=routed or experts.estimated_bytes(weights.text_config, total),
        stored=formats,
        dtype=dtype,
        dtype_source=dtype_source,
        quantization=quantization,
        quantization_source=quantization_source,
    )


def _expands_fp8(facts: WeightsFacts) -> bool:
    """Whether the release expands FP8 weights to the model's dtype, as on every chip but the 950."""
    registry = schemes.registry(facts.row.vllm_ascend)
    in_blocks = registry is not None and "FP8 linear" in registry.of_chip(Family.A2)
    return (in_blocks and facts.chip.family is not Family.A5) or fp8_beside_schemes(
        facts
    ) == schemes.EXPANDED


def fp8_beside_schemes(facts: WeightsFacts) -> str:
    """How the release's special code treats FP8 weights (`Registry.fp8_of`); "" without such code."""
    weights, registry = facts.weights, schemes.registry(facts.row.vllm_ascend)
    method, _ = _quantization(weights)
    if registry is None or method != "fp8":
        return ""
    return registry.fp8_of(text_of(weights.config.value.get("model_type")), facts.chip.family)


def _dtype(facts: WeightsFacts) -> tuple[str, str]:
    flag = {"half": "float16", "float": "float32"}.get(
        facts.option("dtype") or "", facts.option("dtype") or "auto"
    )
    if flag != "auto":
        return flag, f"--dtype {facts.option('dtype')}"
    for config in (facts.weights.text_config, facts.weights.config.value):
        for key in ("torch_dtype", "dtype"):
            named = text_of(config.get(key)).removeprefix("torch.")
            if named == "float32":
                return "", msg(
                    "{key} float32 in config.json, which --dtype auto turns into 16 bits", key=key
                )
            if named:
                return named, msg("{key} in config.json", key=key)
    return "", msg("neither --dtype nor config.json")


def _quantization(weights: Weights) -> tuple[str, str]:
    config = weights.quantization_config
    method = (
        text_of(config.get("quant_method")).lower().replace("_tensors", "-tensors")
    )  # as vLLM does
    if method:
        return method, msg("quantization_config in config.json")
    if weights.folder.has(DESCRIPTION):
        kind = text_of(weights.description.value.get("model_quant_type"))
        return "ascend", f"{DESCRIPTION}{f' ({kind})' if kind else ''}"
    if config:
        return "unknown", msg("quantization_config in config.json, without a quant_method")
    if weights.folder.has("hf_quant_config.json"):
        return "modelopt", "hf_quant_config.json"
    return "", ""
