"""The launch plan: weights, machine and settings in, one decision for each `vllm serve` option out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapter import environment, limits, models, parallel, precision, serving
from adapter.chips import Chip, chip_called
from adapter.decision import Decision
from adapter.device import Machine
from adapter.memory import Budget, Layout, budget_of
from adapter.settings import GROUP_KEYS, Setting, SettingsError
from adapter.weights import Weights

if TYPE_CHECKING:
    from adapter.nodes import Group

Settings = Mapping[str, Setting]


@dataclass(frozen=True)
class Plan:
    """The options in the order of the command line, the environment variables, and remarks for the user."""

    options: tuple[Decision, ...]
    environment: tuple[Decision, ...]
    remarks: tuple[str, ...]

    def arguments(self) -> tuple[str, ...]:
        """The words after `vllm serve MODEL_PATH`."""
        return tuple(argument for decision in self.options for argument in decision.arguments())


def make_plan(weights: Weights, machine: Machine, settings: Settings) -> Plan:
    """Decide all options; manual decisions are kept, and the rest is planned around them.

    Raises:
        Refusal: the launch cannot work on this machine.
    """
    limits.refuse(weights, machine)
    chip = chip_called(machine.chip) if machine.chip else None
    group = group_of(settings)
    weights = precision.as_loaded(weights, chip)
    share = group.share_of(weights) if group else weights
    quantization = _by_hand("quantization", settings) or precision.quantization(
        weights, machine, chip
    )
    utilization = _by_hand("gpu_memory_utilization", settings) or serving.gpu_memory_utilization(
        machine
    )
    budget = budget_of(machine, chip, weights, _number(utilization, serving.UTILIZATION))
    spread = _by_hand("tensor_parallel_size", settings) or _spread(
        share, machine, chip, budget, settings
    )
    size = int(_number(spread, 1))
    copies = _by_hand("data_parallel_size", settings) or _copies(share, machine, chip, size, group)
    layout = Layout(size, int(_number(copies, 1)))
    cache = budget.for_cache(share, layout) if budget and share.total_bytes else None
    room = serving.Room(share, machine, chip, size, cache)
    length = _by_hand("max_model_len", settings) or serving.max_model_len(room)
    sequences = _by_hand("max_num_seqs", settings) or serving.max_num_seqs(
        room, int(_number(length, serving.TYPICAL_TOKENS))
    )
    eager = _switch("enforce_eager", settings)
    planned = (
        precision.dtype(weights, machine, chip),
        quantization,
        spread,
        *(() if group else (copies,)),
        parallel.expert_parallel(weights, machine, chip, layout),
        length,
        sequences,
        serving.max_num_batched_tokens(machine, chip),
        utilization,
        serving.trust_remote_code(weights),
        *serving.for_modalities(weights, machine),
        *models.options(
            weights, machine, chip, models.Launch(size, int(_number(sequences, 1)), eager)
        ),
        *(group.options(layout.data) if group else ()),
    )
    keys = [decision.key for decision in planned]
    others = [key for key in settings if key not in {*keys, *GROUP_KEYS}]
    options = (
        *(_by_hand(decision.key, settings) or decision for decision in planned),
        *(decision for key in others if (decision := _by_hand(key, settings))),
    )
    variables = environment.variables(weights, machine, chip, layout)
    tight = limits.remarks(share, budget, layout, _number(length, serving.LONGEST_NPU))
    return Plan(options, variables, (*weights.remarks, *_remarks(machine, chip, group), *tight))


def group_of(settings: Settings) -> Group | None:
    """The machines that serve together; None for one. Most repositories have no adapter/nodes.py.

    Raises:
        SettingsError: the settings ask for a group and do not list its machines, or nodes.py is not there.
    """
    style = settings.get("multi_node")
    if style is None or style.value is None:
        return None
    try:
        from adapter import nodes  # noqa: PLC0415 - one machine does without it
    except ImportError:
        told = (
            "multi_node needs adapter/nodes.py: npu-adapter new --template planned --data "
            "machines=several has it"
        )
        raise SettingsError(told) from None
    return nodes.listed(settings, style)


def _spread(
    share: Weights, machine: Machine, chip: Chip | None, budget: Budget | None, settings: Settings
) -> Decision:
    """The devices of one copy; an equal share of them if the number of copies was decided manually."""
    asked = _by_hand("data_parallel_size", settings)
    if asked:
        return parallel.tensor_parallel_size(share, machine, budget, int(_number(asked, 1)))
    shared = parallel.size_of_copies(share, machine, chip, budget)
    return shared or parallel.tensor_parallel_size(share, machine, budget)


def _copies(
    share: Weights, machine: Machine, chip: Chip | None, size: int, group: Group | None
) -> Decision:
    if group:
        return group.copies(machine.devices, size)
    return parallel.data_parallel_size(share, machine, chip, size)


def _remarks(machine: Machine, chip: Chip | None, group: Group | None) -> Iterator[str]:
    if chip and chip.family is None:
        yield f"vllm-ascend does not run on {machine.chip}"
    if machine.devices and not machine.hbm_mib:
        yield "the memory of the NPUs is unknown: npu-smi says nothing, and the plan cannot tell what fits"
    if group:
        yield f"for {len(group.addresses)} machines: the evaluation service has one"


def _by_hand(key: str, settings: Settings) -> Decision | None:
    setting = settings.get(key)
    return Decision(key, setting.value, "decided by hand", setting.source) if setting else None


def _switch(key: str, settings: Settings) -> bool | None:
    value = settings[key].value if key in settings else None
    return value if isinstance(value, bool) else None


def _number(decision: Decision, otherwise: float) -> float:
    return decision.value if isinstance(decision.value, int | float) else otherwise
