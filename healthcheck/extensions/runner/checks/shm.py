"""runner/shm: there is enough shared memory."""

from __future__ import annotations

from healthcheck.core.check import Findings, check, warn
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.text.messages import msg

SHM_BYTES = 10**9


@check(
    "runner/shm",
    msg("Shared memory is large enough"),
    stage=RUNNER,
    why=msg("vLLM's processes hand each other requests and results through /dev/shm."),
)
def shm(facts: RunnerFacts) -> Findings:
    """Expects 1 GB in /dev/shm: vllm-ascend's documented `docker run` has --shm-size=1g. Docker's default is 64 MB,
    with which several workers on one machine end in "No space left on device" or a bus error.

    To repair: docker run --shm-size=1g (or --ipc=host); in Kubernetes an emptyDir of medium Memory on /dev/shm.

    Example:
    ```console
    $ docker run IMAGE npu-adapter runner
    ```

    Use instead:

    ```console
    $ docker run --shm-size=1g IMAGE npu-adapter runner
    ```
    """
    space = facts.host.shm
    if space is None:
        fix = msg("mount -t tmpfs -o size=1g tmpfs /dev/shm")
        yield warn(expected=msg("1 GB of shared memory"), seen=msg("no /dev/shm"), fix=fix)
    elif min(space.total_bytes, space.free_bytes) < SHM_BYTES:
        free, total = space.free_bytes / 10**6, space.total_bytes / 10**6
        seen = msg(
            "{free_bytes:.0f} of {total_bytes:.0f} MB free", free_bytes=free, total_bytes=total
        )
        fix = msg("docker run --shm-size=1g, or delete what old servers left in /dev/shm")
        yield warn(expected=msg("1 GB free in /dev/shm"), seen=seen, fix=fix)
