"""The weights that an engine would load from a folder: their size, their dtype, their quantisation."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.weights.documents import child, read_document, text_of
from healthcheck.weights.facts import Weights, WeightsFacts
from healthcheck.weights.inventory import Format, of_format
from healthcheck.weights.safetensors import BITS

HALF = {"F16": "float16", "BF16": "bfloat16"}
FLOATS = {"F32", "F64", "F16", "BF16"}
MAX_DESCRIPTION_BYTES = 32 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The weights that are loaded.

    Attributes:
        total_bytes: of all tensors on the device, after the conversion to the engine's number format.
        expert_bytes: those of routed experts.
        stored: number formats of the files with their share of the bytes, the largest first.
        dtype: the number format that the engine computes in: "float16", "bfloat16", "float32" or "".
        dtype_source: the file and key that give it.
        quantization: "ascend", "compressed-tensors", "awq" …; "" for plain numbers.
        quantization_source: the file and key that give it.
    """

    total_bytes: int
    expert_bytes: int
    stored: tuple[str, ...]
    dtype: str
    dtype_source: str
    quantization: str
    quantization_source: str


def read_load(facts: WeightsFacts) -> Load:
    """The weights that the engine would load."""
    weights = facts.weights
    dtype, dtype_source = _dtype(facts)
    width = 4 if dtype == "float32" else 2
    total, experts = 0, 0
    stored: dict[str, int] = {}
    for shard in weights.loaded:
        for tensor in shard.header.tensors if shard.header else ():
            size = tensor.end - tensor.start
            stored[tensor.dtype] = stored.get(tensor.dtype, 0) + size
            size = tensor.elements * width if tensor.dtype in FLOATS and BITS[tensor.dtype] // 8 > width else size
            total += size
            experts += size if ".experts." in tensor.name else 0
    if not total:
        files = of_format(weights.files, Format.PICKLE) or of_format(weights.files, Format.GGUF)
        total = sum(entry.size_bytes for entry in files)
    largest = max(stored, key=lambda name: stored[name], default="")
    if not dtype and largest in HALF:
        dtype, dtype_source = HALF[largest], f"{largest} tensors in the files"
    quantization, quantization_source = _quantization(weights)
    return Load(
        total_bytes=total,
        expert_bytes=experts,
        stored=tuple(sorted(stored, key=lambda name: -stored[name])),
        dtype=dtype,
        dtype_source=dtype_source,
        quantization=quantization,
        quantization_source=quantization_source,
    )


def _dtype(facts: WeightsFacts) -> tuple[str, str]:
    flag = {"half": "float16", "float": "float32"}.get(facts.option("dtype") or "", facts.option("dtype") or "auto")
    if flag != "auto":
        return flag, f"--dtype {facts.option('dtype')}"
    for config in (facts.weights.text_config, facts.weights.config.value):
        for key in ("torch_dtype", "dtype"):
            named = text_of(config.get(key)).removeprefix("torch.")
            if named == "float32":
                return "", f"{key} float32 in config.json, which --dtype auto turns into 16 bits"
            if named:
                return named, f"{key} in config.json"
    return "", "neither --dtype nor config.json"


def _quantization(weights: Weights) -> tuple[str, str]:
    config = child(weights.config.value, "quantization_config") or child(weights.text_config, "quantization_config")
    method = text_of(config.get("quant_method")).lower()
    if method:
        return method, "quantization_config in config.json"
    if weights.folder.has("quant_model_description.json"):
        description = read_document(weights.folder, "quant_model_description.json", MAX_DESCRIPTION_BYTES)
        kind = text_of(description.value.get("model_quant_type"))
        return "ascend", f"quant_model_description.json{f' ({kind})' if kind else ''}"
    if config:
        return "unknown", "quantization_config in config.json, without a quant_method"
    if weights.folder.has("hf_quant_config.json"):
        return "modelopt", "hf_quant_config.json"
    return "", ""
