"""Checks of what was tried on the devices: torch_npu, a matrix product, free memory, an all-reduce."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.records import Finding, Stage
from healthcheck.runner.machine import NOT_RECORDED
from healthcheck.runner.npu_smi import Holder
from healthcheck.runner.probes import last_line
from healthcheck.runner.records import Device, RunnerFacts
from healthcheck.runner.wording import GIB, IMAGE, RUN_FLAGS, chip_name, listed, needs_npu, npus

UTILIZATION = 0.9
"""vLLM's --gpu-memory-utilization: it refuses to start where less than this share of the memory is free."""
IDLE_MIB = 4096
"""What an idle card uses, at most: 2.9 to 3.5 GB were recorded, the HDK's documents say 3 to 4 GB."""
_ENDED = "end"
_MISSING_LIBRARIES = {
    "libascend_hal": f"the driver's libraries are not in reach: mount them ({RUN_FLAGS})",
    "libhccl": "source /usr/local/Ascend/ascend-toolkit/set_env.sh (CANN's libraries are not in reach)",
    "libascendcl": "source /usr/local/Ascend/ascend-toolkit/set_env.sh (CANN's libraries are not in reach)",
    "libatb": "source /usr/local/Ascend/nnal/atb/set_env.sh (ATB is not in reach)",
    "undefined symbol": "install the torch that this torch_npu was built for: their versions belong together",
    "No module named": "install what is missing, in the Python that serves",
}
_RUNTIME_ERRORS = {
    "107001": "write ASCEND_RT_VISIBLE_DEVICES in ascending order, with numbers from 0 that exist, or unset it",
    "507899": "the driver's library found no usable device: the card is held by another container, or its device "
    "nodes are missing; see runner/npu-smi",
    "drvRetCode=87": "the driver found no usable device; see runner/npu-smi",
}


@check(
    "runner/torch-npu",
    "torch_npu imports and counts the devices",
    stage=Stage.RUNNER,
    why="Every engine on an NPU goes through torch_npu.",
)
def torch_npu(facts: RunnerFacts) -> Findings:
    """Torch and torch_npu are imported by the Python that would serve, in a process of its own with a deadline,
    with CANN's environment scripts sourced where they were not. torch_npu must then count as many devices as are
    wanted.

    To repair: use the official image, or install torch_npu for the torch and the CANN that are there
    (runner/stack says which belong together). A library that is not found: source the set_env.sh scripts; for
    libascend_hal, mount the driver's lib64. No device counted: ASCEND_RT_VISIBLE_DEVICES must be ascending and
    exist, and no other container may hold the card.
    """
    needs_npu(facts)
    seen = facts.torch
    if seen.output is None:
        python = facts.software.executable or "the Python that serves"
        yield fail(
            expected="torch_npu", seen=f"it is not installed in {python}", fix=f"{IMAGE}, or install torch-npu"
        )
    elif seen.output.trouble == NOT_RECORDED:
        yield _unanswered(seen.output.trouble)
    elif not seen.imported:
        yield _no_import(facts)
    elif not seen.count:
        lines = [text for _, text in seen.errors] + seen.output.text.splitlines()
        told = [line for line in lines if _known(line, _RUNTIME_ERRORS)]
        fix = _known(" ".join(told), _RUNTIME_ERRORS) or "see runner/device-nodes and runner/npu-smi"
        said = (told or lines[: len(seen.errors)] or [last_line(seen.output) or "nothing"])[0]
        yield fail(
            expected="at least one device",
            seen=f"torch_npu counts none and says: {said[:300]}",
            fix=fix,
            where="torch.npu.device_count()",
        )
    else:
        yield from _counted(facts, seen.count)


def _counted(facts: RunnerFacts, count: int) -> Iterator[Finding]:
    shown = len(facts.visible) if facts.visible is not None else len(facts.smi.chips)
    if facts.wanted.npus and count < facts.wanted.npus:
        yield fail(
            expected=f"{npus(facts.wanted.npus)}, as --npus says",
            seen=f"torch_npu counts {count}",
            fix="see runner/device-nodes, and ASCEND_RT_VISIBLE_DEVICES",
            where="torch.npu.device_count()",
        )
    elif shown and count < shown:
        yield warn(
            expected=f"the {shown} chips that npu-smi and ASCEND_RT_VISIBLE_DEVICES promise",
            seen=f"torch_npu counts {count}",
            fix="another container may hold the rest; see runner/busy",
        )
    name = facts.torch.devices[0].name if facts.torch.devices else ""
    yield note(f"torch_npu counts {count} × {name or 'a device without a name'}")


def _no_import(facts: RunnerFacts) -> Finding:
    output = facts.torch.output
    assert output is not None
    if output.trouble:
        return unsettled(
            expected="an import of torch_npu",
            seen=f"{output.trouble}, at {facts.torch.last}",
            fix="run it again: the first import from a slow disk can take minutes",
        )
    at, text = facts.torch.errors[0] if facts.torch.errors else ("import torch_npu", last_line(output))
    if output.status and output.status < 0:
        text = f"ended by signal {-output.status}: {text}"
    fix = _known(text, _MISSING_LIBRARIES) or "see runner/cann and runner/stack: the versions must belong together"
    return fail(expected="an import of torch and torch_npu", seen=f"{text[:400]}", fix=fix, where=at)


def _known(text: str, table: dict[str, str]) -> str:
    return next((fix for words, fix in table.items() if words in text), "")


def _unanswered(trouble: str) -> Finding:
    return unsettled(
        expected="an answer of the devices", seen=trouble, fix="record the machine again: runner --save FILE"
    )


@check(
    "runner/compute",
    "Every device computes what the CPU computes",
    stage=Stage.RUNNER,
    why="A device that answers and computes wrong, or hangs, passes every other test.",
)
def compute(facts: RunnerFacts) -> Findings:
    """On every visible device a product of two matrices of small whole numbers, in float16 and, where the device
    has it, in bfloat16. Every element is exact in these formats, so it must be equal to the CPU's, not close.

    This is the strongest proof there is: where it passes, complaints of npu-smi or missing device nodes only warn.

    To repair: an error names the operator or the runtime code (runner/stack for versions that do not belong
    together; a free card for out of memory). Wrong numbers or a hang: the chip's health (npu-smi info -t ecc),
    reset it, or leave it out with ASCEND_RT_VISIBLE_DEVICES.
    """
    needs_npu(facts)
    seen = facts.torch
    if not seen.count:
        raise NotApplicable("torch_npu counts no device, see runner/torch-npu")
    for device in seen.devices:
        yield from _wrong(device, used=facts.wanted.npus is None or device.index < facts.wanted.npus)
    for at, text in seen.errors:
        fix = _known(text, _RUNTIME_ERRORS) or "look the code up in the log of the runtime (~/ascend/log)"
        say = fail if at.startswith(("product", "device")) and not _spare(facts, at) else warn
        yield say(expected="no error of the runtime", seen=text[:400], fix=fix, where=at)
    without = seen.count - sum(bool(device.products) for device in seen.devices)
    if seen.output and (seen.output.trouble or seen.output.status):
        say = warn if seen.last == _ENDED or _spare(facts, seen.last) else fail
        yield say(
            expected="a product on every device, and a clean end",
            seen=f"{seen.output.trouble or f'it ended with status {seen.output.status}'}, at {seen.last}",
            fix="reset that chip (npu-smi set -t reset) or leave it out with ASCEND_RT_VISIBLE_DEVICES",
        )
    elif without > 0 and not seen.errors:
        yield _unanswered(f"the trial ended without a result for {without} of {seen.count} devices")
    if seen.devices and seen.devices[0].bfloat16 is False:
        yield note("no bfloat16 on this device: serve with --dtype float16")


def _spare(facts: RunnerFacts, place: str) -> bool:
    """Whether a place in the trial ("the product on device 6") is on a device beyond those that are wanted."""
    number = re.search(r"\bdevice (\d{1,4})\b", place)
    return bool(number and facts.wanted.npus is not None and int(number[1]) >= facts.wanted.npus)


def _wrong(device: Device, *, used: bool) -> Iterator[Finding]:
    for product in device.products:
        seen = f"device {device.index}: {product.wrong} of {product.of} elements differ in {product.kind}"
        if product.wrong and not used:
            yield note(f"{seen}; it will not be used")
        elif product.wrong:
            yield fail(
                expected="the elements that the CPU computes",
                seen=seen,
                fix=f"leave device {device.index} out (ASCEND_RT_VISIBLE_DEVICES) and have its memory checked: "
                "npu-smi info -t ecc",
            )


@check(
    "runner/memory",
    "The memory of the devices is free",
    stage=Stage.RUNNER,
    why="vLLM takes nine tenths of the memory, and refuses to start where so much is not free.",
)
def memory(facts: RunnerFacts) -> Findings:
    """At least 90 % of each device's memory (HBM) must be free, as torch_npu reports it; that is vLLM's
    --gpu-memory-utilization. Where only npu-smi was asked, 4 GB more may be used: the driver's own share, which
    torch_npu does not count.

    The message names the processes that hold memory. In a container npu-smi cannot name those of others.

    To repair: end the process (a server of an earlier run, most often, whose workers outlived it), or leave the
    chip out with ASCEND_RT_VISIBLE_DEVICES.
    """
    needs_npu(facts)
    known = [device for device in facts.torch.devices if device.total_bytes and device.free_bytes is not None]
    wanted = known[: facts.wanted.npus]
    for device in wanted:
        yield from _device_memory(facts, device)
    if known:
        least = min(device.free_bytes or 0 for device in wanted)
        yield note(f"at least {least / GIB:.1f} GiB are free on each device")
        return
    chips = [chip for chip in facts.in_use if chip.total_mib and chip.used_mib is not None]
    if not chips:
        raise NotApplicable("neither torch_npu nor npu-smi says how much is free")
    for chip in chips:
        used, total = chip.used_mib or 0, chip.total_mib or 1
        if used - IDLE_MIB > (1 - UTILIZATION) * total:
            yield fail(
                expected=f"{UTILIZATION:.0%} of the memory free",
                seen=f"{chip_name(chip)}: {used} of {total} MB used"
                f"{_who(facts, chip.npu, chip.chip) or '; by whom npu-smi does not say'}",
                fix=_freeing(facts, chip.npu, chip.chip),
                where=f"{facts.smi.command} info",
            )


def _device_memory(facts: RunnerFacts, device: Device) -> Iterator[Finding]:
    free, total = device.free_bytes or 0, device.total_bytes or 1
    if free >= UTILIZATION * total:
        return
    chips = facts.in_use
    chip = chips[device.index] if device.index < len(chips) else None
    yield fail(
        expected=f"{UTILIZATION:.0%} of the memory free",
        seen=f"device {device.index}: {free / GIB:.1f} of {total / GIB:.1f} GiB"
        f"{_who(facts, chip.npu, chip.chip) if chip else ''}",
        fix=_freeing(facts, chip.npu, chip.chip) if chip else "end the process that holds it",
        where=f"torch.npu.mem_get_info({device.index})",
    )


def _on(facts: RunnerFacts, npu: int, chip: int) -> list[Holder]:
    return [holder for holder in facts.smi.holders if (holder.npu, holder.chip) == (npu, chip)]


def _who(facts: RunnerFacts, npu: int, chip: int) -> str:
    holders = [holder_words(holder) for holder in _on(facts, npu, chip)]
    return f"; held by {listed(holders, 4)}" if holders else ""


def holder_words(holder: Holder) -> str:
    """A process as npu-smi names it."""
    name = f" ({holder.name})" if holder.name else ""
    return f"process {holder.pid}{name} with {holder.memory_mib if holder.memory_mib is not None else '?'} MB"


def _freeing(facts: RunnerFacts, npu: int, chip: int) -> str:
    pids = [str(holder.container_pid or holder.pid) for holder in _on(facts, npu, chip)]
    place = " on the host" if facts.host.container and pids else ""
    return (
        f"end it: kill {' '.join(pids[:8])}{place}" if pids else "end the server that holds it, or use another chip"
    )


@check(
    "runner/busy",
    "Nobody else uses the chips",
    stage=Stage.RUNNER,
    why="A second user of a chip slows the server down, and memory that it takes later ends it.",
)
def busy(facts: RunnerFacts) -> Findings:
    """npu-smi lists the processes that have memory on a chip. Any on the chips that will be used warns; whether
    enough is free is runner/memory's question.

    In a container npu-smi may leave the names blank, and cannot see the processes of others.

    To repair: end them, or choose other chips with ASCEND_RT_VISIBLE_DEVICES.
    """
    needs_npu(facts)
    if not facts.smi.table:
        raise NotApplicable("npu-smi shows no table of chips")
    for chip in facts.in_use:
        holders = _on(facts, chip.npu, chip.chip)
        if holders:
            yield warn(
                expected="no process on the chips that will be used",
                seen=f"{chip_name(chip)}: {listed([holder_words(holder) for holder in holders], 4)}",
                fix=_freeing(facts, chip.npu, chip.chip),
                where=f"{facts.smi.command} info",
            )


@check(
    "runner/hccl",
    "The devices add up a tensor together",
    stage=Stage.RUNNER,
    why="Tensor parallelism runs over HCCL: a broken link or setting shows only when devices talk to each other.",
)
def hccl(facts: RunnerFacts) -> Findings:
    """With two devices or more, one process a device joins a group over HCCL and adds up a tensor; each must get
    the sum within the deadline.

    To repair: HCCL_IF_IP, HCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME must name an interface of this machine, or be
    unset; a proxy must not stand before 127.0.0.1; every card of the box must be mounted; hccn_tool -i N -link -g
    must say UP. Error codes EI… and EJ… name the cause in the runtime's log.
    """
    needs_npu(facts)
    seen = facts.hccl
    if seen is None:
        raise NotApplicable("it takes two devices that compute")
    if seen.output.trouble == NOT_RECORDED:
        yield _unanswered(NOT_RECORDED)
        return
    for rank in seen.wrong:
        yield fail(
            expected="the sum on every device",
            seen=f"device {rank} got another",
            fix=f"replace or leave out device {rank}, and run it again",
        )
    done = len(seen.right) == seen.world
    for at, text in seen.errors[:2]:
        fix = "read ~/ascend/log for EI… or EJ…; check HCCL_IF_IP, HCCL_SOCKET_IFNAME and the links"
        say = warn if done else fail
        yield say(expected="an all-reduce without errors", seen=text[:400], fix=fix, where=at)
    if not done and not seen.wrong and not seen.errors:
        how = seen.output.trouble or f"it ended with status {seen.output.status}"
        yield fail(
            expected=f"the sum on {seen.world} devices",
            seen=f"{len(seen.right)} had it; {how}",
            fix="hccn_tool -i 0 -link -g for each device; unset HCCL_IF_IP and HCCL_SOCKET_IFNAME and try again",
        )


CHECKS = (torch_npu, compute, memory, busy, hccl)
