"""plan/no-missing-modules: every Python module that deploy.sh loads is installed."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, check
from healthcheck.plan import missing_packages, unmet_needs
from healthcheck.plan.records import LaunchPlan
from healthcheck.plan.script.stderr import Need
from healthcheck.records import Stage


@check(
    "plan/no-missing-modules",
    "Every Python module that deploy.sh loads is installed",
    stage=Stage.PLAN,
    rule=contract.STARTS_THE_SERVICE,
    why="A module that nothing installs ends the start with ModuleNotFoundError.",
    requires=("repo/deploy-sh-present",),
)
def no_missing_modules(plan: LaunchPlan) -> Findings:
    """A Python module has to come from the image, from requirements.txt, from an installation in deploy.sh, or
    from the commit. The options of vLLM that name modules (--worker-cls, --logits-processors …) count as well.

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --logits-processors my_processors:Repeat
    ```

    Use instead (with my_processors.py committed):

    ```sh
    export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
    exec vllm serve "$MODEL_PATH" --logits-processors my_processors:Repeat
    ```
    """
    yield from unmet_needs.findings(plan, Need.MODULE)
    yield from missing_packages.missing_code(plan)
