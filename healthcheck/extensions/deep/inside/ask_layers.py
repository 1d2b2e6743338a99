"""Requests a layer's method from the quantization of a built configuration, as a model does when it is created."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

FLOAT = "FLOAT"
EXPERTS = ".experts."
LAYER = "model.layers.0.self_attn.q_proj"


class NoSchemeError(NotImplementedError):
    """The release has no scheme for a layer of the weights; the text names the layer."""


def ask(config: Any) -> None:
    """Request one layer of each scheme; experts, whose methods need a group of devices, only through the registry.

    Raises:
        NoSchemeError: there is none, or its class reads a key that config.json does not have.
    """
    quantization = config.quant_config
    described = getattr(quantization, "quant_description", None)
    schemes = first_of_each(described if isinstance(described, dict) else {})
    linear = importlib.import_module("vllm.model_executor.layers.linear").LinearBase
    with importlib.import_module("vllm.config").set_current_vllm_config(config):
        for layer in list(schemes.values()) or [LAYER]:
            if EXPERTS not in layer:
                ask_for_linear(quantization, linear.__new__(linear), layer, config.model_config.hf_config)
    registered = getattr(sys.modules[type(quantization).__module__], "get_scheme_class", None)
    for (scheme, of_experts), layer in schemes.items():
        if of_experts and registered and registered(scheme, "moe") is None:
            raise NoSchemeError(f"{layer}: there is no scheme {scheme} for routed experts")


def first_of_each(described: dict[str, Any]) -> dict[tuple[str, bool], str]:
    """The first layer of each scheme in ModelSlim's description, experts separate from others."""
    found: dict[tuple[str, bool], str] = {}
    for layer, scheme in layers_of(described):
        found.setdefault((scheme, EXPERTS in layer), layer)
    return found


def layers_of(described: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, scheme in described.items():
        layer, _, tensor = key.rpartition(".")
        draft = "mtp" in layer.split(".")
        if tensor == "weight" and isinstance(scheme, str) and scheme != FLOAT and "norm" not in layer and not draft:
            yield layer, scheme


def ask_for_linear(quantization: Any, layer: Any, name: str, hf_config: Any) -> None:
    """Request one layer; ignores errors caused by the fake layer or the missing device."""
    try:
        quantization.get_quant_method(layer, name)
    except NotImplementedError as error:
        raise NoSchemeError(f"{name}: {error}") from error
    except AttributeError as error:
        if f"'{type(hf_config).__name__}'" in str(error):
            raise NoSchemeError(f"{name}: AttributeError: {error}") from error
    except Exception as error:  # noqa: BLE001 - the stubs are no device
        print(f"{name}: {error}", file=sys.stderr)
