"""plan/no-missing-programs: every program that deploy.sh runs is there."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check
from healthcheck.stages.plan import unmet_needs
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.stderr import Need


@check(
    "plan/no-missing-programs",
    "Every program that deploy.sh runs is there",
    rule=contract.STARTS_THE_SERVICE,
    why="The service's image has Python, CANN and torch-npu, and no docker, sudo or conda.",
    requires=("repo/deploy-sh-present",),
)
def no_missing_programs(plan: LaunchPlan) -> Findings:
    """The service runs deploy.sh in a container, as one user, without docker, sudo, conda, a system manager or a
    cluster.

    Example:
    ```sh
    conda activate vllm
    sudo vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    yield from unmet_needs.findings(plan, Need.COMMAND)
