"""runner/host-memory: the host has enough memory for the processes of a server."""

from __future__ import annotations

from healthcheck.ascend.hardware import GIB, MIB
from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg

PROCESS_BYTES = 8 * GIB
"""An estimate for one worker: torch, torch_npu, CANN, and the part of the weights that it reads at a time."""


@npu_check(
    "runner/host-memory",
    msg("The host has enough memory for the processes of a server"),
    why=msg(
        "Weights pass through the host's memory. A container that reaches its limit is killed without a message."
    ),
)
def host_memory(facts: RunnerFacts) -> Findings:
    """Expects as much memory as one device has, or 8 GiB per device if that is more. This is an estimate, so less
    memory only warns. The check uses the machine's memory or the lowest limit of the control groups (memory.max, or
    memory.limit_in_bytes), whichever is less. A container of 32 GB with a device of 128 GB was reported in public.

    To repair: omit --memory in `docker run`, or give more (`--memory 128g`); in Kubernetes, raise
    resources.limits.memory.

    Example:
    ```console
    $ cat /sys/fs/cgroup/memory.max
    34359738368
    ```

    Use instead:

    ```console
    $ cat /sys/fs/cgroup/memory.max
    549755813888
    ```
    """
    memory = facts.host.memory
    most = memory.most_bytes
    if most is None:
        raise NotApplicable(msg("/proc/meminfo does not say how much memory the host has"))
    devices = max(len(facts.in_use), 1)
    largest = max((chip.total_mib or 0 for chip in facts.in_use), default=0) * MIB
    needed = max(largest, devices * PROCESS_BYTES)
    limited = memory.limit_bytes == most
    if most >= needed:
        limit = msg(" by the limit of the control group") if limited else ""
        yield note(msg("{most:.0f} GiB{limit}", most=most / GIB, limit=limit))
        return
    expected = msg(
        "{needed:.0f} GiB (an estimate; devices: {devices}, each with {largest:.0f} GiB)",
        needed=needed / GIB,
        devices=devices,
        largest=largest / GIB,
    )
    if limited:
        seen = msg("{most:.1f} GiB, the limit of the control group", most=most / GIB)
        fix = msg(
            "omit --memory in docker run, or give more; in Kubernetes, raise resources.limits.memory"
        )
        yield warn(expected=expected, seen=seen, fix=fix, where=memory.limit_file)
    else:
        seen = msg("{most:.1f} GiB in the machine", most=most / GIB)
        yield warn(
            expected=expected,
            seen=seen,
            fix=msg("serve smaller weights here, or add memory"),
            where="/proc/meminfo",
        )
