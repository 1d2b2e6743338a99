"""plan/starts-server: deploy.sh starts a model server."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, note, unsettled, warn
from healthcheck.core.commands import command_of, words_of
from healthcheck.core.records import Finding
from healthcheck.sandbox.job import EndedBy, Mode
from healthcheck.stages.plan import offline_packages, requested
from healthcheck.stages.plan.records import LaunchPlan, Observations, ShellRun
from healthcheck.stages.plan.script import deploy_sh, trace
from healthcheck.stages.plan.script.diagnosis import LIMITS, WITHOUT_NAMESPACES, ending
from healthcheck.stages.plan.script.refusals import refused_kill
from healthcheck.stages.plan.script.stderr import complaints, error_line, last_lines
from healthcheck.stages.plan.servers.served import SETTLED_LATER, settled_later, with_alternative
from healthcheck.text.messages import joined, msg
from healthcheck.text.redact import without_secrets

_EXPECTED = msg("a model server is started and stays")
_CONFINED = msg(
    "confined by the kernel (Landlock): little of this machine can be read, and nothing changed"
)
_UNCONFINED = msg("not confined: it can read and change all that this user can")


@check(
    "plan/starts-server",
    msg("deploy.sh starts a model server"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg("The service runs deploy.sh and then talks to the server that it started."),
    requires=("repo/deploy-sh-present",),
)
def starts_server(plan: LaunchPlan) -> Findings:
    """deploy.sh is run in a sandbox as the service runs it, and has to reach the command that starts a server.

    It runs from a clean export of the commit, with no arguments, no terminal, no input, MODEL_PATH set and
    little else in the environment, under the shell that its first line names (bash if it names none) and under
    sh. The programs that it starts (vllm, python3, pip, npu-smi, curl …) are stubs that record how they were
    called; nothing is installed, downloaded or really launched.

    With --no-index, the stub of pip looks for each requirement in the folders of --find-links. It fails like pip if
    none has a wheel and no installed package counts; if the image may have the package, the check is not settled.

    If no server is recorded, the message says how the script ended and what it printed last.

    Example:
    ```sh
    set -e
    test -n "$API_TOKEN"
    exec vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    if not plan.servers:
        yield _never(plan)
        return
    if plan.run.ended_by in LIMITS:
        limit, first = LIMITS[plan.run.ended_by][0], plan.servers[0]
        seen = msg("{limits}; before that it started: {quoted}", limits=limit, quoted=first.command)
        fix = msg("end deploy.sh with the server's command")
        yield fail(expected=_EXPECTED, seen=seen, fix=fix, where=first.where)
    yield from refused_kill(plan)
    yield from _unknown_programs(plan)
    yield from offline_packages.findings(plan)
    yield from map(note, _remarks(plan.observed))
    for run in plan.others if plan.run.ended_by not in LIMITS else ():
        if not run.servers or run.ended_by in LIMITS:
            yield _disagreement(plan, run)


def _unknown_programs(plan: LaunchPlan) -> Iterator[Finding]:
    """Programs that ran before the server, and whose output and effect the dry run does not know."""
    ran = requested.placeholders(plan)
    if ran:
        names = ", ".join(ran)
        seen = msg(
            "what {programs} does before the server starts is unknown here: the dry run has no such program",
            programs=names,
        )
        where = deploy_sh.place_of(plan.script, ran)
        yield settled_later(_EXPECTED, seen, where)


def _remarks(observed: Observations) -> Iterator[str]:
    """Remarks about a sandbox that is not isolated."""
    if not observed.isolated:
        yield WITHOUT_NAMESPACES
        yield _CONFINED if observed.mode is Mode.CONFINED else _UNCONFINED
    if observed.stricter:
        yield observed.stricter


def _never(plan: LaunchPlan) -> Finding:
    run = plan.run
    if run.ended_by is EndedBy.COPY:
        seen = msg(
            "there was no dry run of deploy.sh: what it has to copy has {trouble}",
            trouble=plan.observed.trouble,
        )
        fix = msg(
            "keep data and build results out of the commit; or {settled_later}",
            settled_later=SETTLED_LATER,
        )
        return unsettled(expected=_EXPECTED, seen=seen, fix=fix)
    said = complaints(run.stderr, plan.script)
    where = next((each.where for each in reversed(said) if each.where), "")
    ended, cause = _ended(plan), ending(plan, said)
    where = cause.where or where
    if cause.open_because:
        seen = joined("; ", (ended, cause.open_because))
        command = command_of(cause.fix)
        fix = (
            with_alternative(words_of(cause.fix), command, SETTLED_LATER)
            if cause.fix
            else SETTLED_LATER
        )
        return unsettled(expected=_EXPECTED, seen=seen, fix=fix, command=command, where=where)
    if cause.told:
        status = run.exit_status
        ended = msg(
            "it ended with status {exit_status}: {cause}", exit_status=status, cause=cause.seen
        )
    seen, said_last = (
        msg("run under {shell}, {seen}", shell=run.shell, seen=ended),
        without_secrets(run.stderr)[-2000:],
    )
    evidence = {"exit_status": run.exit_status, "ended_by": run.ended_by.value, "stderr": said_last}
    return fail(expected=_EXPECTED, seen=seen, fix=cause.fix, where=where, evidence=evidence)


def _ended(plan: LaunchPlan) -> str:
    """How deploy.sh ended, with its last lines."""
    run = plan.run
    seen, _ = LIMITS.get(
        run.ended_by, (msg("it ended with status {exit_status}", exit_status=run.exit_status), "")
    )
    last, tells = " / ".join(last_lines(run)), error_line(run)
    if tells not in last:
        seen += msg("; it said: {tells}", tells=tells)
    if last:
        seen += msg("; its last lines: {last}", last=last)
    elif run.ended_by is EndedBy.EXIT and run.exit_status:
        command = trace.stop(plan).text
        seen += msg(
            " without output{value}",
            value=msg(", after: {command}", command=command) if command else "",
        )
    elif run.ended_by in LIMITS and (command := trace.stop(plan).text):
        seen += msg("; the last command was: {command}", command=command)
    return seen


def _disagreement(plan: LaunchPlan, run: ShellRun) -> Finding:
    last = " / ".join(last_lines(run)) or msg("status {exit_status}", exit_status=run.exit_status)
    expected = msg(
        "the same under {shell} and under {other_shell}",
        shell=plan.run.shell,
        other_shell=run.shell,
    )
    seen = msg("under {shell} no server is started: {last}", shell=run.shell, last=last)
    fix = msg("write deploy.sh in POSIX sh: which shell the service uses is unknown")
    return warn(expected=expected, seen=seen, fix=fix, where=deploy_sh.place(1))
