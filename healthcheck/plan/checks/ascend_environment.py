"""plan/ascend-environment: the environment lets a server start on Ascend."""

from __future__ import annotations

from healthcheck.check import Findings, check, warn
from healthcheck.plan import ascend_variables
from healthcheck.plan.records import LaunchPlan, Sourced
from healthcheck.plan.script import deploy_sh
from healthcheck.records import Stage

_SCRIPTS = {
    Sourced.ATB_UNDER_U: ("sourced under set -u, though ATB's script reads unset variables", "set +u around it"),
    Sourced.CANN_WITHOUT_BASH: (
        "sourced by a shell that is not bash, though it is written for bash",
        "use #!/bin/bash",
    ),
}


@check(
    "plan/ascend-environment",
    "The environment lets a server start on Ascend",
    stage=Stage.PLAN,
    why="Some variables keep vLLM from the NPU, and CANN's scripts run under bash only.",
    requires=("repo/deploy-sh-present",),
)
def ascend_environment(plan: LaunchPlan) -> Findings:
    """Warnings, each to be settled on an NPU machine:

    - VLLM_PLUGINS without `ascend`: vLLM finds no NPU.
    - ASCEND_LAUNCH_BLOCKING=1 without --enforce-eager: vllm-ascend ends with an error.
    - LD_LIBRARY_PATH or PYTHONPATH replaced: CANN's directories are lost.
    - set_env.sh sourced under `set -u`, or by a shell that is not bash.

    Example:
    ```sh
    export LD_LIBRARY_PATH=/opt/lib
    exec vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    export LD_LIBRARY_PATH="/opt/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    exec vllm serve "$MODEL_PATH"
    ```
    """
    for how in plan.observed.sourced:
        seen, fix = _SCRIPTS[how]
        yield warn(
            expected="CANN's environment script runs",
            seen=f"set_env.sh is {seen}",
            fix=fix,
            where=deploy_sh.place_of(plan.script, ["set_env.sh"]),
        )
    yield from ascend_variables.doubtful(plan)
