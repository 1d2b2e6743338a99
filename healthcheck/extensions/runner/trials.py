"""Gathers the facts of the deeper levels: trials of the devices."""

from __future__ import annotations

import functools
from dataclasses import replace

from healthcheck.core.progress import Progress
from healthcheck.extensions.runner import children, ecc, probes
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.recording import NOT_RECORDED
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import NOT_TRIED
from healthcheck.machine.interface import Interrupted, Machine, Output
from healthcheck.text.messages import msg

TORCH_S = 300.0
"""For the import of torch_npu and the first operator of every device, compiled on a cold cache."""
HCCL_S = 240.0
PAIRS_S = 420.0
BEFORE_SOAK_S = 400.0
"""For imports, the expected product on the CPU, and the first product on every device."""
PRODUCT_SIZE = 8192


def minutes(machine: Machine, facts: RunnerFacts, progress: Progress) -> RunnerFacts:
    """Try torch_npu and collectives. After torch_npu, Ctrl-C keeps the results so far.

    The programs run as deploy.sh would run them: with CANN's environment scripts sourced.
    """
    tried = functools.partial(machine.python, sourced=facts.cann.scripts)
    if facts.software.packages.get("torch_npu"):
        progress.update(msg("a matrix product on every device"))
        output = tried(children.TORCH, timeout_s=TORCH_S)
        if _is_unrecorded(facts, output):
            return replace(facts, stopped=NOT_TRIED)
        facts = replace(facts, torch=probes.torch(output))
    facts = replace(facts, reached=Depth.MINUTES)
    world = working(facts)
    try:
        if facts.torch.imported and facts.software.packages.get("vllm_ascend"):
            progress.update(msg("the operators of vllm-ascend"))
            output = tried(children.OPERATORS, timeout_s=TORCH_S)
            if not _is_unrecorded(facts, output):
                facts = replace(facts, operators=probes.operators(output))
        if world > 1:
            progress.update(msg("an all-reduce over {world} devices", world=world))
            output = tried(children.HCCL, str(world), timeout_s=HCCL_S)
            if _is_unrecorded(facts, output):
                return replace(facts, stopped=NOT_TRIED)
            facts = replace(facts, hccl=probes.hccl(output, world))
    except KeyboardInterrupt:
        facts = replace(facts, stopped="interrupted")
    return facts


def pairs(machine: Machine, facts: RunnerFacts, progress: Progress) -> RunnerFacts:
    """Try each pair of devices, if HCCL works over all of them and these are more than one pair.

    Ctrl-C keeps the results of the earlier trials.
    """
    world = working(facts)
    if world < 3 or facts.hccl is None or len(facts.hccl.right) < world:
        return facts
    progress.update(msg("an all-reduce over each pair of {world} devices", world=world))
    try:
        output = machine.python(
            children.PAIRS, str(world), sourced=facts.cann.scripts, timeout_s=PAIRS_S
        )
    except KeyboardInterrupt:
        return replace(facts, stopped="interrupted")
    if _is_unrecorded(facts, output):
        return replace(facts, stopped=NOT_TRIED)
    return replace(facts, pairs=probes.pairs(output, world))


def soak(machine: Machine, facts: RunnerFacts, progress: Progress) -> RunnerFacts:
    """Compute on all devices at once for a while. Ctrl-C keeps the measurements so far."""
    world, asked_s = working(facts), facts.wanted.soak_s
    if world:
        progress.update(
            msg(
                "the same products on {world} devices for {soak_s:g} min",
                world=world,
                soak_s=asked_s / 60,
            )
        )
        words = (f"{asked_s:g}", str(world), str(PRODUCT_SIZE), facts.smi.command)
        limit_s = asked_s + BEFORE_SOAK_S
        try:
            output = machine.python(
                children.SOAK, *words, sourced=facts.cann.scripts, timeout_s=limit_s
            )
        except Interrupted as cut:
            output, facts = cut.output, replace(facts, stopped="interrupted")
        if _is_unrecorded(facts, output):
            return replace(facts, stopped=NOT_TRIED)
        facts = replace(facts, soak=probes.soak(output, asked_s=asked_s, count=world))
    if facts.stopped:
        return facts
    facts = replace(facts, ecc_after=ecc.counters(machine, facts.smi.command, facts.smi.cards))
    return replace(facts, reached=Depth.SOAK)


def _is_unrecorded(facts: RunnerFacts, output: Output) -> bool:
    """Whether this is a replay of a recording without this trial; the run then stops as if interrupted."""
    return facts.wanted.replay and output.trouble == NOT_RECORDED


def working(facts: RunnerFacts) -> int:
    """The number of existing wanted devices, 0 if one of them does not compute correctly."""
    devices = facts.torch.devices[: facts.wanted.npus]
    return len(devices) if all(device.right for device in devices) else 0
