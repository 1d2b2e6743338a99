"""What single models and chips need besides a launch's size: graphs, dtypes of states, tokenizers, drafts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from adapter.chips import A310P, Chip
from adapter.decision import Decision
from adapter.device import Machine
from adapter.weights import Weights

RECIPES = "vllm-ascend's recipes"
EAGER = frozenset({"MixtralForCausalLM", "NemotronForCausalLM", "Qwen3ASRForConditionalGeneration"})
"""Architectures that every recipe launches without graphs, except Qwen3-ASR's on a 310P."""
TOKENIZER_MODES = {
    "DeepseekV32ForCausalLM": "deepseek_v32", "DeepseekV4ForCausalLM": "deepseek_v4",
    "DeepseekV41ForCausalLM": "deepseek_v41",
}  # fmt: skip
"""Modes that vLLM 0.23 finds by itself, and earlier releases may not."""
WITHOUT_FUSIONS: Mapping[str, Mapping[str, bool]] = {
    "DeepseekOCR2ForCausalLM": {"fuse_qknorm_rope": False},
    "MiniMaxM3SparseForConditionalGeneration": {"fuse_norm_quant": False},
}
WITHOUT_NZ = frozenset({"DeepseekOCR2ForCausalLM"})
"""Architectures whose weights stay as they are stored, instead of the chip's own format."""


@dataclass(frozen=True)
class Launch:
    """The number of devices of one copy, and of requests that it serves at a time.

    `eager` is the manual decision for (True) or against launching without graphs, else None.
    """

    tensor: int
    sequences: int
    eager: bool | None = None


def options(
    weights: Weights, machine: Machine, chip: Chip | None, launch: Launch
) -> tuple[Decision, ...]:
    old = chip is not None and chip.family == A310P
    return (
        *_graphs(weights, chip, launch),
        *((Decision("no_enable_prefix_caching", True, "not for a 310P", RECIPES),) if old else ()),
        _load_format(weights),
        _tokenizer_mode(weights, machine),
        _state_dtype(weights, chip),
        _drafts(weights, machine),
    )


def _graphs(weights: Weights, chip: Chip | None, launch: Launch) -> tuple[Decision, ...]:
    """Graphs for decoding if chip and model have them, without the fusions that break."""
    if chip is None or chip.family is None:
        return (Decision("compilation_config", None, "vLLM chooses", "adapter/models.py"),)
    old, additional = chip.family == A310P, _additional_config(weights, chip)
    why = (
        _why_eager(weights, chip)
        if launch.eager is None
        else "decided by hand"
        if launch.eager
        else ""
    )
    if why:
        eager = Decision("enforce_eager", True, why, RECIPES)
        return (Decision("compilation_config", None, "no graphs", RECIPES), eager, additional)
    graphs: dict[str, object] = {"cudagraph_mode": "FULL_DECODE_ONLY"}
    if old:
        powers = [2**power for power in range(launch.sequences.bit_length())]
        graphs["cudagraph_capture_sizes"] = powers[-2:] if launch.tensor > 1 else powers
    why = "a 310P holds few graphs" if old else "graphs for decoding"
    return (Decision("compilation_config", json.dumps(graphs), why, RECIPES), additional)


def _why_eager(weights: Weights, chip: Chip) -> str:
    if chip.family != A310P:
        return "no recipe has graphs for this architecture" if weights.architecture in EAGER else ""
    hybrid = weights.attention and weights.attention.linear_layers
    return (
        "graphs of models that see need CANN 9.0 on a 310P"
        if "image" in weights.modalities and not hybrid
        else ""
    )


def _additional_config(weights: Weights, chip: Chip) -> Decision:
    fusions = dict(WITHOUT_FUSIONS.get(weights.architecture or "", {}))
    why, scheme = "the recipe of these weights goes without", weights.scheme or ""
    if scheme.startswith("W4A4") and "MX" not in scheme:
        fusions |= {"fuse_norm_quant": False}
    elif scheme.startswith("W4A8") and not weights.experts:
        fusions |= {"enable_npugraph_ex": False}
    if chip.family == A310P:
        why = "not for a 310P"
        fusions |= {"enable_npugraph_ex": False, "fuse_norm_quant": False}
    config: dict[str, object] = {"ascend_compilation_config": fusions} if fusions else {}
    if weights.architecture in WITHOUT_NZ:
        config["weight_nz_mode"] = 0
    if not config:
        return Decision("additional_config", None, "vllm-ascend chooses", "adapter/models.py")
    return Decision("additional_config", json.dumps(config), why, RECIPES)


def _load_format(weights: Weights) -> Decision:
    if weights.ranks:
        return Decision(
            "load_format", "sharded_state", "stored in shards, one a device", "model-rank-* files"
        )
    return Decision("load_format", None, "not stored in shards", "file names")


def _tokenizer_mode(weights: Weights, machine: Machine) -> Decision:
    mode = TOKENIZER_MODES.get(weights.architecture or "")
    if mode is None or not machine.devices:
        return Decision("tokenizer_mode", None, "vLLM chooses", "adapter/models.py")
    return Decision(
        "tokenizer_mode", mode, "no chat template: this mode writes the prompt", RECIPES
    )


def _state_dtype(weights: Weights, chip: Chip | None) -> Decision:
    key = "mamba_ssm_cache_dtype"
    if chip and chip.family == A310P and weights.attention and weights.attention.linear_layers:
        return Decision(key, "float16", "a 310P does not keep linear attention in float32", RECIPES)
    return Decision(key, None, "vLLM chooses", "config.json")


def _drafts(weights: Weights, machine: Machine) -> Decision:
    """No multi-token prediction by default: it only saves time, and on Ascend it has changed answers."""
    key = "speculative_config"
    if not weights.mtp_layers or not machine.devices:
        return Decision(key, None, "no layers that draft tokens", "config.json")
    asked = json.dumps({"method": "mtp", "num_speculative_tokens": 1})
    return Decision(
        key,
        None,
        f"drafts save time but changed answers; ask with {asked}",
        "vllm-ascend issue 10621",
    )
