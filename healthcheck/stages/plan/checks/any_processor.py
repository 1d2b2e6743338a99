"""plan/any-processor: the start does not depend on the processor."""

from __future__ import annotations

import platform

from healthcheck.core.check import Findings, check, warn
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.text.messages import msg

_QUOTED_CHARACTERS = 200


@check(
    "plan/any-processor",
    msg("The start does not depend on the processor"),
    why=msg("The service does not document which processor its machine has."),
    requires=("repo/deploy-sh-present",),
)
def any_processor(plan: LaunchPlan) -> Findings:
    """A branch on `uname -m` or `arch` is a warning: the dry run only takes the branch of this machine's processor,
    and many NPU machines have an aarch64 processor.

    A script that only prints the processor passes.

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
    number = deploy_sh.processor_line(plan.script)
    if number is None:
        return
    line = deploy_sh.line_at(plan.script, number)[:_QUOTED_CHARACTERS]
    expected = msg(
        "the same start on every processor: the service does not document which one it has"
    )
    seen = msg(
        "“{line}” depends on the processor, and the dry run only saw {machine}",
        line=line,
        machine=platform.machine(),
    )
    fix = msg("remove the branch; or run the script on an aarch64 and on an x86_64 machine")
    yield warn(expected=expected, seen=seen, fix=fix, where=deploy_sh.place(number))
