"""Reads the quantization schemes of the layers from a weights folder, under vllm-ascend's names."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from healthcheck.ascend.schemes import IN_GROUPS
from healthcheck.stages.weights.documents import JsonObject, child, integer, text_of, words
from healthcheck.stages.weights.fit.experts import has_experts
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.records import DESCRIPTION, Weights
from healthcheck.text.messages import msg

EXPERTS = ".experts."
MAX_SCHEMES = 20
"""Limit on judged schemes; real weights have three or four."""
QUANTIZED = (".weight_packed", ".weight_scale")
"""Tensors that compressed-tensors stores only for quantised layers."""
WITH_ACTIVATIONS = {
    "naive-quantized",
    "int-quantized",
    "float-quantized",
    "nvfp4-pack-quantized",
    "mixed-precision",
}
"""Formats of compressed-tensors for which vLLM reads the quantisation of activations, not only of weights."""
MICRO = {("mxfp8-quantized", 8): "W8A8_MXFP8", ("mxfp4-pack-quantized", 4): "W4A4_MXFP4"}


class Layer(enum.Enum):
    """The kinds of layers that vllm-ascend has schemes for, by their names in its registry."""

    LINEAR = "linear"
    EXPERTS = "moe"

    @property
    def words(self) -> str:
        return msg("routed experts") if self is Layer.EXPERTS else msg("linear layers")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScheme:
    """The scheme of some layers.

    Attributes:
        scheme: its name in vllm-ascend's registry; "" if no release has a name for it.
        quoted: the entry in the file, quoted.
        where: the file.
        sure: False if the scheme may belong to another kind of layer.
    """

    scheme: str
    layer: Layer
    quoted: str
    where: str
    sure: bool = True


def modelslim_schemes(description: JsonObject) -> tuple[NamedScheme, ...]:
    """The schemes in quant_model_description.json, each with its first layer."""
    found: dict[tuple[str, Layer], str] = {}
    for key, value in description.items():
        scheme = text_of(value)
        if scheme and scheme != "FLOAT" and _is_layer(key):
            layer = Layer.EXPERTS if EXPERTS in key else Layer.LINEAR
            found.setdefault((scheme, layer), f'"{shown(key, 120)}": "{shown(scheme, 60)}"')
            if len(found) == MAX_SCHEMES:
                break
    return tuple(
        NamedScheme(scheme=scheme, layer=layer, quoted=quoted, where=DESCRIPTION)
        for (scheme, layer), quoted in found.items()
    )


def _is_layer(key: str) -> bool:
    """Whether the key names the weight of a layer, not of a norm or of a draft layer, which is not loaded."""
    module, _, tensor = key.rpartition(".")
    norm = "norm" in module.rpartition(".")[2]
    return tensor in {"weight", "weight_packed"} and not norm and "mtp" not in module.split(".")


def schemes_of_method(weights: Weights, method: str) -> tuple[NamedScheme, ...]:
    """The schemes of a method that has one scheme for all layers."""
    scheme = "FP8" if method in {"fp8", "deepseek_v4_fp8"} else "W8A8_MXFP8"
    layers = (Layer.LINEAR, Layer.EXPERTS) if has_experts(weights.text_config) else (Layer.LINEAR,)
    quoted = f'"quant_method": "{shown(method)}"'
    return tuple(
        NamedScheme(scheme=scheme, layer=layer, quoted=quoted, where="config.json")
        for layer in layers
    )


def compressed_tensors_schemes(weights: Weights) -> Iterator[NamedScheme]:
    """The schemes of the groups in a compressed-tensors configuration."""
    config = weights.quantization_config
    listed = itertools.islice(child(config, "config_groups").items(), MAX_SCHEMES)
    groups = {name: group for name, group in listed if isinstance(group, dict)}
    layers = quantized_layers(weights)
    one = len({_scheme(group, config) for group in groups.values()}) == 1
    for name, group in groups.items():
        quoted = f'"{shown(name)}": {_number_formats(group)}'
        meant = layers if one else _targeted(group, layers)
        for layer in meant:
            sure = one or len(meant) == 1
            yield NamedScheme(
                scheme=_scheme(group, config),
                layer=layer,
                quoted=quoted,
                where="config.json",
                sure=sure,
            )
        if one:
            return


def quantized_layers(weights: Weights) -> tuple[Layer, ...]:
    """The kinds of layers with quantised tensors, from the headers of the files or else from the configuration."""
    stored = (tensor.name for tensor in weights.tensors if tensor.name.endswith(QUANTIZED))
    found = {Layer.EXPERTS if EXPERTS in name else Layer.LINEAR for name in stored}
    if found:
        return tuple(layer for layer in Layer if layer in found)
    return (Layer.LINEAR, Layer.EXPERTS) if has_experts(weights.text_config) else (Layer.LINEAR,)


def _targeted(group: JsonObject, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The kinds of layers that one of several groups targets; untrusted patterns are not executed."""
    targets = words(group.get("targets"))
    if targets and all("expert" in target and "shared" not in target for target in targets):
        return (Layer.EXPERTS,)
    if targets and all("attn" in target or "shared" in target for target in targets):
        return (Layer.LINEAR,)
    return layers


def _scheme(group: JsonObject, config: JsonObject) -> str:
    """The scheme that vllm-ascend's configuration class for compressed-tensors selects; "" for none."""
    kind = text_of(group.get("format")) or text_of(config.get("format"))
    weights, activations = child(group, "weights"), child(group, "input_activations")
    bits = integer(weights.get("num_bits")) or 0
    if activations and (kind, bits) in MICRO:
        return MICRO[kind, bits]
    if kind not in WITH_ACTIVATIONS or not activations:
        four = (
            bits == 4 and weights.get("type", "int") == "int" and weights.get("strategy") == "group"
        )
        return "W4A16" if four and weights.get("dynamic") is not True else ""
    return _scheme_with_activations(bits, weights, activations)


def _scheme_with_activations(bits: int, weights: JsonObject, activations: JsonObject) -> str:
    symmetric = (
        weights.get("symmetric", True) is True and activations.get("symmetric", True) is True
    )
    strategies = (text_of(weights.get("strategy")), text_of(activations.get("strategy")))
    dynamic = activations.get("dynamic") is True
    if not symmetric or activations.get("num_bits") != 8:
        return ""
    if bits == 4 and dynamic and strategies[0] in {"channel", "group"} and strategies[1] == "token":
        return f"W4A8_DYNAMIC {IN_GROUPS}" if strategies[0] == "group" else "W4A8_DYNAMIC"
    if bits == 8 and dynamic and strategies == ("channel", "token"):
        return "W8A8FP8_DYNAMIC" if weights.get("type") == "float" else "W8A8_DYNAMIC"
    integers = weights.get("type", "int") == "int"
    return (
        "W8A8"
        if bits == 8 and integers and not dynamic and strategies == ("channel", "tensor")
        else ""
    )


def _number_formats(group: Mapping[str, object]) -> str:
    """The number formats of a group, such as "weights 4 bits int by group, activations as they are"."""
    weights = _number_format(group.get("weights"))
    activations = _number_format(group.get("input_activations"))
    return f"weights {weights}, activations {activations}"


def _number_format(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return msg("as they are")
    kind, by = (
        text_of(arguments.get("type")) or "int",
        text_of(arguments.get("strategy")) or "tensor",
    )
    when = " dynamic" if arguments.get("dynamic") is True else ""
    return f"{integer(arguments.get('num_bits')) or '?'} bits {shown(kind, 20)} by {shown(by, 20)}{when}"
