"""plan/foreground: deploy.sh keeps running while the server runs."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, unsettled, warn
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh, staying
from healthcheck.stages.plan.servers.served import STARTED, served
from healthcheck.text.messages import msg

_ENDED_BY_ITSELF = {-15, -9, 124, 137, 143}
"""Exit statuses for SIGTERM and SIGKILL in Python and in shells, and of `timeout`; a dry run causes none."""
_UNKNOWN = msg(
    "deploy.sh stays while the server runs (what the service does if it ends is unknown)"
)
_LONGER_THAN_ANY_EVALUATION_S = 7 * 86400


@check(
    "plan/foreground",
    msg("deploy.sh stays for as long as the server does"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "Once deploy.sh has ended the service may take the adapter for stopped, and end its processes."
    ),
    requires=STARTED,
)
def foreground(plan: LaunchPlan) -> Findings:
    """The server belongs in the foreground of deploy.sh.

    A script that puts the server into the background (`&`, nohup, setsid) and ends leaves no process that
    the service could watch, and where deploy.sh is a container's main process everything ends with it. What the
    service does then is unknown: inconclusive. A script that ends with an error, or ends the server, fails.
    Background and `wait`, a pipe into `tee`, and best of all `exec` keep it. A loop that starts the server again
    keeps it, too, but hides each crash: a server that cannot load is started for ever, which is a warning.

    A limit on its time (`timeout 600 vllm serve …`) ends it in the middle of the evaluation, which loads up to
    {limit} and then asks every problem {repeats} times. How long that takes is unknown, so a limit is a warning.

    Repair: make the server the last command, with `exec` in front, or end with `wait`; put no limit on its time.

    Example:
    ```sh
    vllm serve "$MODEL_PATH" &
    sleep 1
    ```

    Use instead:

    ```sh
    vllm serve "$MODEL_PATH" &
    wait
    ```
    """
    server = served(plan)
    if not server.foreground:
        status = plan.run.exit_status
        seen = msg(
            "deploy.sh ended with status {status} after starting: {quoted}",
            status=status,
            quoted=server.command,
        )
        stays = msg("deploy.sh stays while the server runs")
        found, expected = (fail, stays) if status else (unsettled, _UNKNOWN)
        edits = (
            staying.edits(plan.script, server.where, status or 0)
            if _is_left_by_itself(plan)
            else ()
        )
        fix = "" if edits else _stay(plan, server.where)
        yield found(expected=expected, seen=seen, fix=fix, where=server.where, edits=edits)
    elif server.limit_s is not None and server.limit_s < _LONGER_THAN_ANY_EVALUATION_S:
        expected = msg(
            "the server runs until the evaluation is over, and how long that takes is unknown"
        )
        seen = msg(
            "it is ended after {limit_s:g} s, finished or not: {quoted}",
            limit_s=server.limit_s,
            quoted=server.command,
        )
        edits = staying.without_limit(plan.script, server.where)
        fix = "" if edits else msg("remove the time limit (timeout …, timeout=…) around the server")
        yield warn(expected=expected, seen=seen, fix=fix, where=server.where, edits=edits)
    elif deploy_sh.is_repeated(plan.script, server.where):
        expected = msg(
            "a server that cannot start ends deploy.sh, so that its error is the last line"
        )
        seen = msg("a loop starts it again, whatever ended it: {quoted}", quoted=server.command)
        fix = msg("start the server once, with exec in front and without the loop")
        yield warn(expected=expected, seen=seen, fix=fix, where=server.where)


def _is_left_by_itself(plan: LaunchPlan) -> bool:
    """Whether deploy.sh simply goes on behind its server: nothing ends it, and no request of it failed."""
    status = plan.run.exit_status
    return status not in _ENDED_BY_ITSELF and not (status and _first_unanswered(plan))


def _stay(plan: LaunchPlan, where: str) -> str:
    """How to keep deploy.sh running with its server."""
    status = plan.run.exit_status
    if status in _ENDED_BY_ITSELF:
        return msg("remove what ends the server (a kill, a timeout)")
    if status and (wrong := _first_unanswered(plan)):
        return msg(
            "correct the request for {wrong}, or remove it: exec in front of the server's command",
            wrong=wrong,
        )
    number = where.rpartition(":")[2]
    ends = deploy_sh.ending_lines(plan.script, int(number), status or 0) if number.isdigit() else ()
    if ends:
        named = ", ".join(map(str, ends[:3]))
        return msg(
            "write wait in place of the exit that ends deploy.sh (line {named}), or exec in front of the "
            "server's command, no & after it, and no further command",
            named=named,
        )
    lines = plan.script.splitlines()[int(number) - 1 :] if number.isdigit() else []
    if lines and lines[0].split()[:1] == ["exec"]:
        return msg(
            "remove the & after the server's command: behind exec, too, it puts the server into the background"
        )
    return msg(
        "write exec in front of the server's command and no & after it, or end deploy.sh with: wait"
    )


def _first_unanswered(plan: LaunchPlan) -> str:
    """The first request that never succeeded and so may have ended the script; "" if there is none."""
    models = (msg("the model {name}", name=repr(name)) for name in plan.observed.unknown_models)
    ports = (msg("port {port}", port=port) for port in plan.observed.refused_ports)
    return next(models, "") or next(ports, "")
