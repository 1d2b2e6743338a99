"""plan/readiness-poll: deploy.sh polls its own server long enough."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.dry_run.runs import PATIENCE_S
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh, trace
from healthcheck.stages.plan.servers.served import STARTED, served
from healthcheck.text.messages import msg

LONG_SLEEP_S = 300
"""A sleep this long before the server starts looks like a mistake; that is an inference."""


@check(
    "plan/readiness-poll",
    msg("deploy.sh polls its own server, and long enough"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("A script that gives up while the server loads ends the adapter."),
    requires=STARTED,
)
def readiness_poll(plan: LaunchPlan) -> Findings:
    """If deploy.sh waits for its server, it has to poll the port and the model that the server has, and for long
    enough: how long {limit} take to load is unknown. Ten minutes, as vLLM waits for its own engine
    (VLLM_ENGINE_READY_TIMEOUT_S), are taken for enough; that is an inference.

    A script that polls a port where nothing listens, and then ends, fails, however long it waits. Five minutes or
    more of `sleep` before the server starts use up the time that the service waits, which is unknown.

    Example:
    ```sh
    vllm serve "$MODEL_PATH" --port {port} &
    for i in $(seq 30); do curl -sf localhost:8001/health && break; sleep 1; done
    curl -sf localhost:8001/health || exit 1
    wait
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    yield from _other_ports(plan)
    yield from _other_models(plan)
    yield from _gives_up(plan)
    yield from _sleeps_first(plan)


def _sleeps_first(plan: LaunchPlan) -> Findings:
    """Long sleeps before the server starts.

    Those in the background, and those on lines after a server in the background, do not delay it. The dry run may
    record them before the server.
    """
    server = served(plan)
    before: list[deploy_sh.Sleep] = []
    others: list[deploy_sh.Sleep] = []
    for each in deploy_sh.sleeps(plan.script):
        harmless = each.beside or _is_after(each.line, server.where)
        (others if harmless else before).append(each)
    if any(each.seconds is None for each in others):
        return
    seconds = server.slept_s - sum(each.seconds or 0.0 for each in others)
    if seconds < LONG_SLEEP_S:
        return
    longest = max(before, key=lambda each: each.seconds or 0.0, default=None)
    expected = msg("the server starts at once: how long the service waits for it is not documented")
    seen = msg("deploy.sh sleeps {seconds:g} s before it starts the server", seconds=seconds)
    fix: str = msg("remove what sleeps before the server starts")
    if longest:
        line = deploy_sh.line_at(plan.script, longest.line)
        fix = msg("remove the sleep in line {number}: {line}", number=longest.line, line=line)
    yield warn(
        expected=expected,
        seen=seen,
        fix=fix,
        where=deploy_sh.place(longest.line if longest else None),
    )


def _is_after(line: int, place: str) -> bool:
    number = place.rpartition(":")[2]
    return number.isdigit() and line > int(number)


def _other_ports(plan: LaunchPlan) -> Findings:
    """Polled ports on which no server of deploy.sh listens."""
    own, run = plan.server.port if plan.server else None, plan.loading_run
    ended = run if run and run.ended_by is EndedBy.EXIT and not plan.run.polled else None
    for asked in plan.observed.refused_ports if own else ():
        expected = msg("deploy.sh polls the port of its server: port {own}", own=own)
        seen = msg("it polls port {asked}, where nothing listens", asked=asked)
        if ended:
            seen = msg(
                "{seen}, and ends after waiting {slept_s:g} s", seen=seen, slept_s=ended.slept_s
            )
        fix = msg("poll port {own}, or drop the wait loop and start the server with exec", own=own)
        where = deploy_sh.place_of(plan.script, [f":{asked}", str(asked)])
        yield (fail if ended else warn)(expected=expected, seen=seen, fix=fix, where=where)


def _other_models(plan: LaunchPlan) -> Findings:
    """Requested models for which the server returned status 404."""
    for asked in plan.observed.unknown_models:
        seen = msg("it requests {asked}, and the server returns status 404", asked=repr(asked))
        fix = msg('request the served name, "$MODEL_PATH", or remove the request')
        where = deploy_sh.place_of(plan.script, [asked, contract.CHAT_PATH])
        yield warn(
            expected=msg("deploy.sh requests a model that its server has"),
            seen=seen,
            fix=fix,
            where=where,
        )


def _gives_up(plan: LaunchPlan) -> Findings:
    """A script that ends before the server is ready."""
    run = plan.loading_run
    if run is None or run.ended_by is not EndedBy.EXIT or run.slept_s >= PATIENCE_S:
        return
    if not (run.slept_s or run.polled):
        return
    servers = tuple(" ".join(server.command.split()[:2]) for server in run.servers)
    stop = trace.last_command(
        [command for command in run.traced if not command.text.startswith(servers)]
    )
    line = deploy_sh.line_at(plan.script, stop.line) or stop.text
    soon = (
        msg("after waiting {slept_s:g} s", slept_s=run.slept_s) if run.slept_s else msg("at once")
    )
    limit = contract.MAX_WEIGHT
    expected = msg(
        "deploy.sh waits while the server loads; how long up to {limit} take is unknown",
        limit=limit,
    )
    seen = msg(
        "it ends {value} if the server is not ready by then: “{line}”", value=soon, line=line
    )
    fix = msg(
        "wait for the server itself (wait $!, or exec), or for at least {patience_s:g} s",
        patience_s=PATIENCE_S,
    )
    yield warn(
        expected=expected,
        seen=seen,
        fix=fix,
        where=deploy_sh.place(stop.line) or served(plan).where,
    )
