"""runner/torch-npu: torch_npu can be imported and counts the devices."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.core.check import Findings, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.runtime_errors import RUNTIME_ERRORS, known_repair
from healthcheck.extensions.runner.trial_records import TrialError
from healthcheck.extensions.runner.wording import IMAGE, RUN_FLAGS, npus
from healthcheck.machine.steps import last_line
from healthcheck.text.messages import msg

_COUNT = "torch.npu.device_count()"
_MISSING_LIBRARIES = {
    "libascend_hal": msg(
        "the driver's libraries are not in reach: mount them ({run_flags})", run_flags=RUN_FLAGS
    ),
    "libhccl": msg(
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh (CANN's libraries are not in reach)"
    ),
    "libascendcl": msg(
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh (CANN's libraries are not in reach)"
    ),
    "libatb": msg("source /usr/local/Ascend/nnal/atb/set_env.sh (ATB is not in reach)"),
    "undefined symbol": msg(
        "install the torch that this torch_npu was built for: their versions belong together"
    ),
    "No module named": msg("install what is missing, in the Python that serves"),
}


@npu_check(
    "runner/torch-npu",
    msg("torch_npu imports and counts the devices"),
    level=Depth.MINUTES,
    why=msg("Every engine on an NPU goes through torch_npu."),
)
def torch_npu(facts: RunnerFacts) -> Findings:
    """The Python that would run the server imports torch and torch_npu, in a separate process with a deadline.
    CANN's environment scripts are sourced first if they were not. torch_npu must then count as many devices as are
    wanted.

    To repair: use the official image, or install torch_npu for the torch and the CANN that are there (runner/stack
    says which are compatible). For a missing library, source the set_env.sh scripts; for libascend_hal, mount the
    driver's lib64. If no device is counted: ASCEND_RT_VISIBLE_DEVICES must name existing devices in ascending
    order, and no other container may hold the card.

    Example:
    ```pycon
    >>> import torch, torch_npu
    >>> torch.npu.device_count()
    0
    ```

    Use instead:

    ```pycon
    >>> import torch, torch_npu
    >>> torch.npu.device_count()
    8
    ```
    """
    seen = facts.torch
    if seen.output is None:
        said = msg(
            "it is not installed in {python}",
            python=facts.software.executable or msg("the Python that serves"),
        )
        yield fail(
            expected="torch_npu", seen=said, fix=msg("{image}, or install torch-npu", image=IMAGE)
        )
    elif not seen.imported:
        yield _no_import(facts)
    elif not seen.count:
        lines = [error.text for error in seen.errors] + seen.output.text.splitlines()
        told = [line for line in lines if known_repair(line, RUNTIME_ERRORS)]
        fix = known_repair(" ".join(told), RUNTIME_ERRORS) or msg(
            "see runner/device-nodes and runner/npu-smi"
        )
        line = (told or lines[: len(seen.errors)] or [last_line(seen.output)])[0]
        said = msg("torch_npu counts none and says: {said}", said=line[:300] or msg("nothing"))
        yield fail(expected=msg("at least one device"), seen=said, fix=fix, where=_COUNT)
    else:
        yield from _counted(facts, seen.count)


def _counted(facts: RunnerFacts, count: int) -> Iterator[Finding]:
    shown = len(facts.visible) if facts.visible is not None else len(facts.smi.chips)
    seen = msg("torch_npu counts {count}", count=count)
    if facts.wanted.npus and count < facts.wanted.npus:
        expected = msg("{npus}, as --npus says", npus=npus(facts.wanted.npus))
        fix = msg("see runner/device-nodes, and ASCEND_RT_VISIBLE_DEVICES")
        yield fail(expected=expected, seen=seen, fix=fix, where=_COUNT)
    elif shown and count < shown:
        expected = msg(
            "the {shown} chips that npu-smi and ASCEND_RT_VISIBLE_DEVICES promise", shown=shown
        )
        yield warn(
            expected=expected,
            seen=seen,
            fix=msg("another container may hold the rest; see runner/busy"),
        )
    name = facts.torch.devices[0].name if facts.torch.devices else None
    yield note(
        msg(
            "torch_npu counts {count} × {name}",
            count=count,
            name=name or msg("a device without a name"),
        )
    )


def _no_import(facts: RunnerFacts) -> Finding:
    output = facts.torch.output
    assert output is not None
    if output.trouble:
        seen = msg("{trouble}, at {last}", trouble=output.trouble, last=facts.torch.last)
        fix = msg("run it again: the first import from a slow disk can take minutes")
        return unsettled(expected=msg("an import of torch_npu"), seen=seen, fix=fix)
    errors = facts.torch.errors or (TrialError(at="import torch_npu", text=last_line(output)),)
    at, text = errors[0].at, errors[0].text
    said = text[:400]
    if output.status and output.status < 0:
        said = msg("ended by signal {value}: {seen}", value=-output.status, seen=said)
    usual = msg("see runner/cann and runner/stack: the versions must belong together")
    repair = known_repair(text, _MISSING_LIBRARIES) or usual
    return fail(expected=msg("an import of torch and torch_npu"), seen=said, fix=repair, where=at)
