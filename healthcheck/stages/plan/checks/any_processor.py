"""plan/any-processor: the start does not depend on the processor."""

from __future__ import annotations

import platform

from healthcheck.core.check import Findings, check, warn
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.text.messages import msg


@check(
    "plan/any-processor",
    "The start does not depend on the processor",
    why="Which processor the service's machine has is not documented.",
    requires=("repo/deploy-sh-present",),
)
def any_processor(plan: LaunchPlan) -> Findings:
    """A branch on `uname -m` is a warning: the dry run sees the processor of this machine alone, and many NPU
    machines have an aarch64 processor.

    Example:
    ```sh
    [ "$(uname -m)" = x86_64 ] && PORT={port}
    exec vllm serve "$MODEL_PATH" --port "$PORT"
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    line = deploy_sh.processor_line(plan.script)
    if line:
        shown = deploy_sh.line_at(plan.script, line)[:200]
        expected = msg("the same start on every processor: the processor of the service is not documented")
        seen = msg("“{line_at}” depends on it, and the dry run saw {machine} alone", shown, platform.machine())
        fix = msg("remove it, or make sure that every branch is right")
        yield warn(expected=expected, seen=seen, fix=fix, where=deploy_sh.place(line))
