"""The launch plan: weights, machine and settings in, one decision for each `vllm serve` option out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adapter import environment, nodes, parallel, precision, serving
from adapter.chips import Chip, chip_called
from adapter.decision import Decision
from adapter.device import Machine
from adapter.memory import budget_of
from adapter.settings import Setting
from adapter.weights import Weights

Settings = Mapping[str, Setting]


@dataclass(frozen=True)
class Plan:
    """The options in the order of the command line, the environment variables, and what else is worth knowing."""

    options: tuple[Decision, ...]
    environment: tuple[Decision, ...]
    remarks: tuple[str, ...]

    def arguments(self) -> tuple[str, ...]:
        """The words after `vllm serve MODEL_PATH`."""
        return tuple(argument for decision in self.options for argument in decision.arguments())


def make_plan(weights: Weights, machine: Machine, settings: Settings) -> Plan:
    """Decide all options; those decided by hand are kept, and the rest is planned around them.

    Raises:
        Refusal: the launch cannot work on this machine.
    """
    chip = chip_called(machine.chip) if machine.chip else None
    group = nodes.group_of(settings)
    share = nodes.share_of(weights, group)
    quantization = _by_hand("quantization", settings) or precision.quantization(weights, machine)
    utilization = _by_hand("gpu_memory_utilization", settings) or serving.gpu_memory_utilization(machine)
    budget = budget_of(machine, chip, weights, _number(utilization, serving.UTILIZATION))
    spread = _by_hand("tensor_parallel_size", settings) or parallel.tensor_parallel_size(share, machine, budget)
    size = int(_number(spread, 1))
    room = serving.Room(share, machine, chip, size, budget.for_cache(share, size) if budget else None)
    length = _by_hand("max_model_len", settings) or serving.max_model_len(room)
    planned = (
        precision.dtype(weights, machine, chip),
        quantization,
        spread,
        parallel.expert_parallel(weights, machine, size),
        length,
        serving.max_num_seqs(room, int(_number(length, serving.TYPICAL_TOKENS))),
        serving.max_num_batched_tokens(machine, chip),
        utilization,
        serving.trust_remote_code(weights),
        *serving.for_modalities(weights, machine),
        *serving.for_chip(weights, chip, size),
        *nodes.options(group, max(1, machine.devices // size)),
    )
    keys = [decision.key for decision in planned]
    others = [key for key in settings if key not in {*keys, *nodes.KEYS}]
    options = (
        *(_by_hand(decision.key, settings) or decision for decision in planned),
        *(decision for key in others if (decision := _by_hand(key, settings))),
    )
    variables = environment.variables(weights, machine, chip, size)
    return Plan(options, variables, (*weights.remarks, *_remarks(machine, chip, group)))


def _remarks(machine: Machine, chip: Chip | None, group: nodes.Group | None) -> Iterator[str]:
    if chip and chip.family is None:
        yield f"vllm-ascend does not run on {machine.chip}"
    if machine.devices and not machine.hbm_mib:
        yield "the memory of the NPUs is unknown: npu-smi says nothing, and the plan cannot tell what fits"
    if group:
        yield f"for {len(group.addresses)} machines: the evaluation service has one"


def _by_hand(key: str, settings: Settings) -> Decision | None:
    setting = settings.get(key)
    return Decision(key, setting.value, "decided by hand", setting.source) if setting else None


def _number(decision: Decision, otherwise: float) -> float:
    return decision.value if isinstance(decision.value, int | float) else otherwise
