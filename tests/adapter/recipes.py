"""vllm-ascend's documented launches (scripts/data/recipes.json), each beside the adapter's own plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapter.device import Machine, described_machine
from adapter.plan import Plan, make_plan
from adapter.weights import Weights, read_weights

FILE = Path(__file__).parents[2] / "scripts" / "data" / "recipes.json"
DATA: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
DEFAULTS: dict[str, Any] = {
    "tensor-parallel-size": 1,
    "data-parallel-size": 1,
    "enable-expert-parallel": False,
}

# Why the plan goes without what it does not decide. "Only speed": no answer depends on it.
NOT_PLANNED = {
    "block-size": "vllm-ascend sets it",
    "enable-prefix-caching": "vLLM's default: only speed",
    "no-enable-prefix-caching": "vLLM's default: only speed",
    "hf-overrides": "a longer context or another index than the weights name",
    "mm-encoder-tp-mode": "only speed",
    "attention-config": "a smaller cache in less precise numbers",
    "decode-context-parallel-size": "contexts beyond what an evaluation needs",
    "prefill-context-parallel-size": "contexts beyond what an evaluation needs",
    "cp-kv-cache-interleave-size": "contexts beyond what an evaluation needs",
    "speculative-config with a draft model": "the service has the weights alone, no draft model beside them",
    "cudagraph_capture_sizes": "vLLM chooses the sizes: only speed",
    "enable_npu_graph_ex": "misspelt in the recipe; the plan spells it enable_npugraph_ex",
    "enable_npugraph_ex": "vllm-ascend's default",
    "enable_static_kernel": "vllm-ascend's default",
    "enable_sparse_li_c8": "a smaller cache in less precise numbers",
    "enable_cpu_binding": "vllm-ascend's default",
    "enable-ep-weight-filter": "only the host's memory and the time to load",
    "PYTORCH_NPU_ALLOC_CONF": "most recipes for a 310P go without",
}
ONLY_SPEED = "only speed"
SPEED = frozenset({
    "weight_nz_mode", "enable_weight_nz_layout", "enable_flashcomm1", "multistream_overlap_shared_expert",
    "enable_fused_mc2", "scheduler_config", "enable_balance_scheduling", "enable_mlapo", "enable_dsa_cp",
    "enable_shared_expert_dp", "ascend_fusion_config", "fuse_muls_add", "weight_prefetch_config", "pa_shape_list",
    "layer_sharding", "HCCL_BUFFSIZE", "HCCL_OP_EXPANSION_MODE", "HCCL_INTRA_ROCE_ENABLE", "HCCL_INTRA_PCIE_ENABLE", "OMP_NUM_THREADS",
    "CPU_AFFINITY_CONF", "VLLM_ASCEND_ENABLE_FLASHCOMM1", "VLLM_ASCEND_BALANCE_SCHEDULING", "VLLM_ASCEND_ENABLE_MLAPO",
    "VLLM_ASCEND_ENABLE_FUSED_MC2", "VLLM_ASCEND_ENABLE_TOPK_OPTIMIZE", "VLLM_ASCEND_ENABLE_PREFETCH_MLP",
    "OMP_PROC_BIND", "TASK_QUEUE_ENABLE",
})  # fmt: skip
"""Keys of --additional-config and variables that change how fast the answers come."""


@dataclass(frozen=True)
class Difference:
    """One option that the plan has in another way than the recipe."""

    option: str
    recipe: object
    plan: object
    reason: str


@dataclass(frozen=True)
class Compared:
    """A recipe, and the plan for the same weights on the same machine."""

    recipe: dict[str, Any]
    weights: Weights
    machine: Machine
    plan: Plan

    @property
    def name(self) -> str:
        """Model, machine and releases, for a test's id."""
        recipe = self.recipe
        return f"{recipe['model']} on {recipe['devices']} x {recipe['chip']}, {'+'.join(recipe['releases'])}"

    @property
    def model_and_chip(self) -> tuple[str, str]:
        """What other releases' recipes have in common with this one."""
        return self.recipe["model"], self.recipe["chip"]

    def asked(self, option: str) -> Any:
        """The recipe's value."""
        return self.recipe["arguments"].get(option, DEFAULTS.get(option))

    def planned(self, option: str) -> Any:
        """The plan's value, objects read; None where the option is left to vLLM."""
        for decision in self.plan.options:
            if decision.key == option.replace("-", "_"):
                value = decision.value
                is_object = isinstance(value, str) and value.startswith("{")
                return (
                    json.loads(value)
                    if is_object
                    else DEFAULTS.get(option)
                    if value is None
                    else value
                )
        return DEFAULTS.get(option)

    def why(self, option: str) -> str:
        """The reason that the plan prints."""
        reasons = {
            decision.key: decision.why for decision in (*self.plan.options, *self.plan.environment)
        }
        return reasons.get(option.replace("-", "_"), "")


def write_weights(model: dict[str, Any], folder: Path) -> Path:
    """A folder with the model's config.json, and sparse files as large as its weights."""
    (folder / "config.json").write_text(json.dumps(model["config"]))
    ranks = model.get("ranks", 0)
    names = [f"model-rank-{rank}-part-0.safetensors" for rank in range(ranks)] or [
        "model.safetensors"
    ]
    for name in names:
        with (folder / name).open("wb") as file:
            file.truncate(int(model["gigabytes"] * 1e9 / len(names)))
    if scheme := model.get("modelslim"):
        described = {
            "model.layers.0.self_attn.q_proj.weight": scheme,
            "model.embed_tokens.weight": "FLOAT",
        }
        (folder / "quant_model_description.json").write_text(json.dumps(described))
    return folder


def compare(recipe: dict[str, Any], folder: Path) -> Compared:
    """The recipe beside the plan.

    Raises:
        Refusal: the adapter does not plan this launch at all.
    """
    weights = read_weights(write_weights(DATA["models"][recipe["model"]], folder))
    machine = described_machine(recipe["chip"], recipe["devices"])
    return Compared(recipe, weights, machine, make_plan(weights, machine, {}))


def differences(pair: Compared) -> Iterator[Difference]:
    """What the plan has in another way, unless it has more of the same."""
    yield from _layout(pair)
    for option, value in pair.recipe["arguments"].items():
        if option not in {
            "tensor-parallel-size",
            "data-parallel-size",
            "enable-expert-parallel",
            "max-num-seqs",
        }:
            yield from _of_option(pair, option, value)
    yield from _of_variables(pair)


def _layout(pair: Compared) -> Iterator[Difference]:
    sizes = ("tensor-parallel-size", "data-parallel-size")
    asked, planned = (tuple(get(size) for size in sizes) for get in (pair.asked, pair.planned))
    # A recipe that names no size at all leaves the choice to its reader.
    if asked != planned and any(size in pair.recipe["arguments"] for size in sizes):
        yield Difference("TP × DP", asked, planned, "; ".join(filter(None, map(pair.why, sizes))))
    experts = "enable-expert-parallel"
    if pair.asked(experts) != pair.planned(experts):
        yield Difference(experts, pair.asked(experts), pair.planned(experts), pair.why(experts))
    if requests := pair.asked("max-num-seqs"):
        planned_requests = pair.planned("max-num-seqs") * planned[1]
        if planned_requests < requests * asked[1]:
            why = pair.why("max-num-seqs")
            yield Difference("max-num-seqs × DP", requests * asked[1], planned_requests, why)


def _of_option(pair: Compared, option: str, value: Any) -> Iterator[Difference]:
    planned = pair.planned(option)
    if option in {"max-model-len", "max-num-batched-tokens", "gpu-memory-utilization"}:
        if planned is None or planned < value:
            yield Difference(option, value, planned, pair.why(option))
    elif option == "limit-mm-per-prompt":
        short = {
            key: count for key, count in value.items() if (planned or {}).get(key, 999) < count
        }
        if short:
            yield Difference(option, value, planned, pair.why(option))
    elif option == "speculative-config":
        drafted = "model" in value
        key = f"{option} with a draft model" if drafted else option
        reason = NOT_PLANNED[key] if drafted else pair.why(option)
        yield Difference(key, value, planned, reason)
    elif option in {"compilation-config", "additional-config"}:
        yield from _of_keys(pair, option, value, planned or {})
    elif planned != value:
        yield Difference(option, value, planned, NOT_PLANNED.get(option) or pair.why(option))


def _of_keys(
    pair: Compared, option: str, value: dict[str, Any], planned: dict[str, Any]
) -> Iterator[Difference]:
    """One for each key that differs, those of ascend_compilation_config by themselves."""
    for key, asked in value.items():
        if key == "ascend_compilation_config":
            yield from _of_keys(pair, option, asked, planned.get(key, {}))
        elif planned.get(key) != asked:
            reason = ONLY_SPEED if key in SPEED else NOT_PLANNED.get(key) or pair.why(option)
            yield Difference(key, asked, planned.get(key), reason)


def _of_variables(pair: Compared) -> Iterator[Difference]:
    planned = {decision.key: str(decision.value) for decision in pair.plan.environment}
    for name, value in pair.recipe["environment"].items():
        if planned.get(name) != value:
            reason = ONLY_SPEED if name in SPEED else pair.why(name) or NOT_PLANNED.get(name, "")
            yield Difference(name, value, planned.get(name), reason)
