"""plan/no-missing-programs: every program that deploy.sh runs is there."""

from __future__ import annotations

import re

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import At, Findings, check, fail
from healthcheck.stages.plan import lost_values, unmet_needs
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.requested import needs_packages
from healthcheck.stages.plan.script.stderr import Need
from healthcheck.text.messages import msg

ROOT = "root"


@check(
    "plan/no-missing-programs",
    msg("Every program that deploy.sh runs is there"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("The service's image has Python, CANN and torch-npu, and no docker, sudo or conda."),
    requires=("repo/deploy-sh-present",),
)
def no_missing_programs(plan: LaunchPlan) -> Findings:
    """The service runs deploy.sh in a container, as one user, without docker, sudo, conda, a system manager or a
    cluster. A Python that the release does not support, such as python3.8, is not there.

    Where the profile of the service names a user other than root, an installation of system packages fails.

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
    lost = list(lost_values.findings(plan, "plan/no-missing-programs"))
    yield from lost
    told = {finding.where for finding in lost}
    yield from (each for each in unmet_needs.findings(plan, Need.COMMAND) if each.where not in told)
    row = stacks.row(plan.stack)
    for server in plan.servers[:1]:
        python = re.match(r"(?:\S*/)?python(3\.\d{1,2})(?= )", server.command)
        if python and not stacks.in_range(python[1], row.python):
            expected = msg(
                "python3: vllm-ascend {release} needs Python {python}",
                release=row.vllm_ascend,
                python=row.python,
            )
            fix = msg("write python3 in place of {python}", python=python[0])
            yield fail(expected=expected, seen=server.command, fix=fix, where=server.where)
    user = contract.service().user or ROOT
    for command in plan.commands if user != ROOT else ():
        if needs_packages(plan, command):
            expected = msg(
                "what the user {user} may do: only root installs system packages", user=user
            )
            seen = command_text(command.argv[:12])
            fix = msg("commit what is needed")
            yield At(command.where).fail(expected=expected, seen=seen, fix=fix, rule=contract.USER)
