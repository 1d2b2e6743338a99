"""A plan as lines of a shell script: the launch itself, with the reason for each option as a comment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapter.decision import Decision
from adapter.device import Machine
from adapter.plan import Plan
from adapter.weights import Weights, size_in_words

USUAL = ("910B", "A3")
"""The kinds of NPU to plan for if none is named. npu-smi calls an A3 "Ascend910", and a 910B by its name."""
LAUNCH = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'

Decisions = tuple[Decision, ...]


@dataclass(frozen=True)
class Lines:
    """What one machine needs: its name, the variables and the options that are not left to vLLM."""

    machine: str
    variables: Decisions
    options: Decisions


def script(weights: Weights, planned: Sequence[tuple[Machine, Plan]]) -> str:
    """The lines for one machine, or for a 910B and an A3, in this order: what differs is in a `case`."""
    each = [_lines(weights, machine, plan) for machine, plan in planned]
    variables, options = (
        _shared([one.variables for one in each]),
        _shared([one.options for one in each]),
    )
    differing = [
        Lines(one.machine, _others(one.variables, variables), _others(one.options, options))
        for one in each
    ]
    case = list(_case(differing)) if any(one.variables or one.options for one in differing) else []
    return "\n".join(
        (
            *_head(weights, planned, each),
            *_exports(variables),
            "",
            *case,
            *_launch(options, bool(case)),
        )
    )


def _head(
    weights: Weights, planned: Sequence[tuple[Machine, Plan]], each: Sequence[Lines]
) -> Iterator[str]:
    command = "npu-adapter plan --weights FOLDER --npu KIND --npus N"
    on = " or ".join(one.machine for one in each)
    if weights.total_bytes:
        size = size_in_words(weights.total_bytes)
        yield f"# Planned for {weights.architecture or 'a model'} of {size} on {on}."
        yield f"# For others: {command}"
    else:
        yield f"# Planned for weights of unknown size on {on}. Set --tensor-parallel-size and --max-model-len, or"
        yield f"# take the lines that this prints for yours: {command}"
    remarks = dict.fromkeys(remark for _, plan in planned for remark in plan.remarks)
    silent = () if weights.total_bytes else weights.remarks
    yield from (f"# Note: {remark}" for remark in remarks if remark not in silent)


def _lines(weights: Weights, machine: Machine, plan: Plan) -> Lines:
    """The lines of one machine; weights of unknown size are one copy on all its devices."""
    key, devices = "tensor_parallel_size", machine.devices
    every = Decision(
        key, devices or None, "every NPU, since the size of the weights is unknown", machine.source
    )
    options = tuple(
        every if each.key == key and not weights.total_bytes else each for each in plan.options
    )
    name = (
        f"{devices} × {machine.chip or 'NPU of unknown kind'}"
        if devices
        else "a machine without NPU"
    )
    return Lines(name, plan.environment, tuple(each for each in options if each.arguments()))


def _shared(of_each: Sequence[Decisions]) -> Decisions:
    """The decisions with one value on all machines."""
    first, *others = of_each
    return tuple(
        decision for decision in first if not any(_others((decision,), other) for other in others)
    )


def _others(decisions: Decisions, known: Decisions) -> Decisions:
    """The decisions whose value is not among the `known` ones; reasons may differ."""
    values = [(each.key, each.value) for each in known]
    return tuple(each for each in decisions if (each.key, each.value) not in values)


def _case(differing: Sequence[Lines]) -> Iterator[str]:
    yield "# What the kind of NPU decides; npu-smi names a 910B, and calls an A3 Ascend910."
    yield 'case "$(npu-smi info)" in'
    for pattern, each in zip(("*910B*", "*"), differing, strict=True):
        yield f"{pattern})  # {each.machine}"
        yield from (f"    {line}" for line in (*_exports(each.variables), *_reasons(each.options)))
        yield f"    {shlex.join(('set', '--', *_words(each.options)))}"
        yield "    ;;"
    yield from ("esac", "")


def _launch(options: Decisions, cased: bool) -> Iterator[str]:
    yield from _reasons(options)
    lines = [
        LAUNCH,
        *(shlex.join(each.arguments()) for each in options),
        *(['"$@"'] if cased else []),
    ]
    yield " \\\n    ".join(lines)


def _exports(variables: Decisions) -> list[str]:
    return _commented(
        [(f"export {each.key}={shlex.quote(str(each.value))}", each.why) for each in variables],
        "  # ",
    )


def _reasons(options: Decisions) -> list[str]:
    return _commented([(f"# {each.arguments()[0]}", each.why) for each in options], "  ")


def _words(options: Decisions) -> tuple[str, ...]:
    return tuple(word for each in options for word in each.arguments())


def _commented(rows: Sequence[tuple[str, str]], before: str) -> list[str]:
    width = max((len(text) for text, _ in rows), default=0)
    return [f"{text:{width}}{before}{why}" for text, why in rows]
