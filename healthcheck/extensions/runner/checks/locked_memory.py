"""runner/locked-memory: memory may be locked for transfers."""

from __future__ import annotations

from healthcheck.ascend.hardware import GIB
from healthcheck.core.check import Findings, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg


@npu_check(
    "runner/locked-memory",
    "Memory may be locked for transfers",
    why="A pool of the KV cache in host memory, and transfers between servers, register memory, which locks it.",
)
def locked_memory(facts: RunnerFacts) -> Findings:
    """Expects no limit of locked memory, or at least 1 GiB. A lower limit warns unless this process has
    CAP_IPC_LOCK: KV cache pools then end with "Unable to pin host memory" (LMCache-Ascend, issue 5) or "Failed
    to register memory" (Mooncake's troubleshooting guide). A plain `vllm serve` on one machine needs none of
    this.

    To repair: docker run --ulimit memlock=-1:-1; for containerd LimitMEMLOCK=infinity in its service.

    Example:
    ```console
    $ docker run --ulimit memlock=65536:65536 IMAGE npu-adapter runner
    ```

    Use instead:

    ```console
    $ docker run --ulimit memlock=-1:-1 IMAGE npu-adapter runner
    ```
    """
    limit = facts.host.locked_bytes
    if limit is not None and limit < GIB:
        expected = msg("no limit of locked memory (KV cache pools and transfers between servers need it)")
        fix = msg("docker run --ulimit memlock=-1:-1, if the adapter uses such a pool")
        yield warn(expected=expected, seen=f"{limit // 1024} KiB", fix=fix, where="ulimit -l")
