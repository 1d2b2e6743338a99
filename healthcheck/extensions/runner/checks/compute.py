"""runner/compute: every device computes the same as the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.runtime_errors import RUNTIME_ERRORS, known_repair
from healthcheck.extensions.runner.trial_records import Device
from healthcheck.extensions.runner.wording import RUNTIME_LOG
from healthcheck.text.messages import msg

_MATTERS = frozenset({"set device", "product"})
"""Steps of the program that a server also needs; without a name or the free memory it still computes."""


@npu_check(
    "runner/compute",
    msg("Every device computes what the CPU computes"),
    level=Depth.MINUTES,
    why=msg("A device that computes wrong results, or hangs, can pass every other check."),
)
def compute(facts: RunnerFacts) -> Findings:
    """Multiplies two matrices of small integers on every visible device, in float16 and, if the device supports it,
    in bfloat16. Every element is exact in these formats, so it must equal the CPU's result.

    This is the strongest evidence: if it passes, errors of npu-smi and missing device nodes only warn.

    To repair: an error names the operator or the runtime code (see runner/stack for incompatible versions; use a
    free card if memory ran out). For wrong numbers or a hang, look at the chip's health (npu-smi info -t ecc),
    reset it, or exclude it with ASCEND_RT_VISIBLE_DEVICES.

    Example:
    ```pycon
    >>> a, b = (torch.randint(-4, 5, (64, 64)).half() for _ in range(2))
    >>> (a.to("npu:3") @ b.to("npu:3")).cpu().equal(a @ b)
    False
    ```

    Use instead, before the server starts:

    ```console
    $ export ASCEND_RT_VISIBLE_DEVICES=0,1,2,4,5,6,7
    ```
    """
    seen = facts.torch
    if not seen.count:
        raise NotApplicable(msg("torch_npu counts no device, see runner/torch-npu"))
    for device in seen.devices:
        yield from _wrong(facts, device)
    for error in seen.errors:
        fix = known_repair(error.text, RUNTIME_ERRORS) or RUNTIME_LOG
        say = fail if error.during in _MATTERS and not _spare(facts, error.device) else warn
        yield say(
            expected=msg("no error of the runtime"), seen=error.text[:400], fix=fix, where=error.at
        )
    without = seen.count - sum(bool(device.products) for device in seen.devices)
    if seen.output and (seen.output.trouble or seen.output.status):
        say = warn if seen.at_end or _spare(facts, seen.last_device) else fail
        ending = seen.output.trouble or msg(
            "it ended with status {status}", status=seen.output.status
        )
        expected = msg("a product on every device, and a clean end")
        fix = msg(
            "reset that chip (npu-smi set -t reset) or exclude it with ASCEND_RT_VISIBLE_DEVICES"
        )
        yield say(
            expected=expected,
            seen=msg("{trouble}, at {last}", trouble=ending, last=seen.last),
            fix=fix,
        )
    elif without > 0 and not seen.errors:
        seen_by = msg(
            "the test program ended without a result for {without} of {count} devices",
            without=without,
            count=seen.count,
        )
        yield unsettled(
            expected=msg("an answer of the devices"), seen=seen_by, fix=msg("run it again")
        )
    if seen.devices and seen.devices[0].bfloat16 is False:
        yield note(msg("no bfloat16 on this device: serve with --dtype float16"))


def _spare(facts: RunnerFacts, device: int | None) -> bool:
    """Whether a device is not among the wanted ones."""
    return device is not None and facts.wanted.npus is not None and device >= facts.wanted.npus


def _wrong(facts: RunnerFacts, device: Device) -> Iterator[Finding]:
    index = device.index
    fix = msg(
        "exclude device {index} (ASCEND_RT_VISIBLE_DEVICES) and have its memory checked: npu-smi info -t ecc",
        index=index,
    )
    for each in device.products:
        if each.wrong:
            seen = msg(
                "device {index}: {wrong} of {of} elements differ in {kind}",
                index=index,
                wrong=each.wrong,
                of=each.of,
                kind=each.kind,
            )
            if _spare(facts, index):
                yield note(msg("{seen}; it will not be used", seen=seen))
            else:
                yield fail(expected=msg("the elements that the CPU computes"), seen=seen, fix=fix)
