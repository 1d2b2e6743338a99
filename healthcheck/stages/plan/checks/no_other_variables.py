"""plan/no-other-variables: deploy.sh needs no environment variable but MODEL_PATH."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check
from healthcheck.stages.plan import lost_values, unmet_needs
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.stderr import Need
from healthcheck.text.messages import msg


@check(
    "plan/no-other-variables",
    msg("deploy.sh needs no environment variable but MODEL_PATH"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("The service sets MODEL_PATH and none of your own variables."),
    requires=("repo/deploy-sh-present",),
)
def no_other_variables(plan: LaunchPlan) -> Findings:
    """The service sets MODEL_PATH and does not know the variables of your shell.

    Example:
    ```sh
    set -u
    exec vllm serve "$MODEL_PATH" --tensor-parallel-size "$TP"
    ```

    Use instead:

    ```sh
    set -u
    : "${TP:=1}"
    exec vllm serve "$MODEL_PATH" --tensor-parallel-size "$TP"
    ```
    """
    yield from unmet_needs.findings(plan, Need.VARIABLE)
    if not unmet_needs.any_of(plan, Need.ARGUMENT, Need.VARIABLE):
        yield from unmet_needs.usage(plan, unmet_needs.VARIABLE)
    yield from lost_values.findings(plan, "plan/no-other-variables")
