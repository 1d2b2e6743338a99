"""plan/no-arguments: deploy.sh needs no arguments and no input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
from healthcheck.core.records import Finding
from healthcheck.stages.plan import lost_values, unmet_needs
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.stderr import Need
from healthcheck.stages.plan.unmet_needs import EXPECTED
from healthcheck.text.messages import msg


@check(
    "plan/no-arguments",
    msg("deploy.sh needs no arguments and no input"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("The service runs deploy.sh without arguments and without a terminal."),
    requires=("repo/deploy-sh-present",),
)
def no_arguments(plan: LaunchPlan) -> Findings:
    """The service passes no arguments to deploy.sh and types nothing.

    Example:
    ```sh
    exec vllm serve "$1" --port {port}
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    yield from unmet_needs.findings(plan, Need.ARGUMENT, Need.TERMINAL)
    if not unmet_needs.any_of(plan, Need.ARGUMENT, Need.VARIABLE):
        yield from unmet_needs.usage(plan, unmet_needs.ARGUMENTS)
    found = list(lost_values.findings(plan, "plan/no-arguments"))
    yield from found
    if not found:
        yield from _emptied(plan)


def _emptied(plan: LaunchPlan) -> Iterator[Finding]:
    """A server without its model or port because of a missing argument or missing input."""
    server = plan.server
    if server is None or not (server.model == "" or _lost_value(server)):
        return
    what, line = deploy_sh.empty_line(plan.script)
    if what:
        seen = msg(
            "it needs {what}: “{line_at}” gives nothing, and the server is started with: {quoted}",
            what=what,
            line_at=deploy_sh.line_at(plan.script, line),
            quoted=server.command,
        )
        yield fail(
            expected=EXPECTED, seen=seen, fix=unmet_needs.ASK_NOTHING, where=deploy_sh.place(line)
        )


def _lost_value(server: ServerCommand) -> bool:
    """Whether the option for the model or the port is on the command line without a value."""
    bare = (
        server.port is None and re.fullmatch(r"-[\w-]+[= ]?", server.port_source.text) is not None
    )
    return bare or any(server.options.get(name) == "" for name in ("model", "model-path"))
