"""runner/memory: the device memory is free."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.ascend.hardware import GIB
from healthcheck.core.check import Findings, NotApplicable, fail, note
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.holders import freeing, holder_words
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.trial_records import Device
from healthcheck.extensions.runner.wording import chip_name, listed
from healthcheck.machine.npu_smi import Chip, holders_on
from healthcheck.text.messages import msg

UTILIZATION = 0.9
"""vLLM's --gpu-memory-utilization: it refuses to start if less than this share of the memory is free."""
IDLE_MIB = 4096
"""The most that an idle card uses: 2.9 to 3.5 GB were recorded, the HDK's documents say 3 to 4 GB."""


@npu_check(
    "runner/memory",
    msg("The device memory is free"),
    why=msg("vLLM reserves 90 % of the memory, and refuses to start if less is free."),
)
def memory(facts: RunnerFacts) -> Findings:
    """At least 90 % of each device's memory (HBM) must be free, as torch_npu reports it: vLLM's default
    --gpu-memory-utilization. If only npu-smi was asked, 4 GB more may be used: the driver's own share, which
    torch_npu does not count.

    The message names the processes that hold memory. In a container npu-smi cannot name processes of other
    containers.

    To repair: end the process (most often a worker that outlived an earlier server), or exclude the chip with
    ASCEND_RT_VISIBLE_DEVICES.

    Example:
    ```pycon
    >>> torch.npu.mem_get_info()  # bytes free, and in all
    (9126805504, 65455301591)
    ```

    Use instead:

    ```pycon
    >>> torch.npu.mem_get_info()  # bytes free, and in all
    (64961380352, 65455301591)
    ```
    """
    known = [
        device
        for device in facts.torch.devices
        if device.total_bytes and device.free_bytes is not None
    ]
    wanted = known[: facts.wanted.npus]
    for device in wanted:
        yield from _device_memory(facts, device)
    if known:
        least = min(device.free_bytes or 0 for device in wanted)
        yield note(msg("at least {least:.1f} GiB are free on each device", least=least / GIB))
        return
    chips = [chip for chip in facts.in_use if chip.total_mib and chip.used_mib is not None]
    if not chips:
        raise NotApplicable(msg("neither torch_npu nor npu-smi says how much is free"))
    for chip in chips:
        used, total = chip.used_mib or 0, chip.total_mib or 1
        if used - IDLE_MIB > (1 - UTILIZATION) * total:
            who = _who(facts, chip) or msg("; by whom npu-smi does not say")
            seen = msg(
                "{device}: {used} of {total} MB used{who}",
                device=chip_name(chip),
                used=used,
                total=total,
                who=who,
            )
            yield _taken(seen, fix=freeing(facts, chip), where=f"{facts.smi.command} info")


def _device_memory(facts: RunnerFacts, device: Device) -> Iterator[Finding]:
    free, total = device.free_bytes or 0, device.total_bytes or 1
    if free >= UTILIZATION * total:
        return
    chips = facts.in_use
    chip = chips[device.index] if device.index < len(chips) else None
    who = _who(facts, chip) if chip else ""
    seen = msg(
        "device {index}: {free:.1f} of {total:.1f} GiB{who}",
        index=device.index,
        free=free / GIB,
        total=total / GIB,
        who=who,
    )
    fix = freeing(facts, chip) if chip else msg("end the process that holds it")
    yield _taken(seen, fix=fix, where=f"torch.npu.mem_get_info({device.index})")


def _taken(seen: str, *, fix: str, where: str) -> Finding:
    expected = msg("{utilization:.0%} of the memory free", utilization=UTILIZATION)
    return fail(expected=expected, seen=seen, fix=fix, where=where)


def _who(facts: RunnerFacts, chip: Chip) -> str:
    holders = [holder_words(holder) for holder in holders_on(chip, facts.smi.memory_holders)]
    return msg("; held by {holders}", holders=listed(holders, 4)) if holders else ""
