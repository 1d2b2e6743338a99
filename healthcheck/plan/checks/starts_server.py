"""Whether deploy.sh starts a server at all, and why not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.check import Findings, check, fail, unsettled, warn
from healthcheck.plan import ascend_variables
from healthcheck.plan.device_memory import overcommitted
from healthcheck.plan.dry_run.sandbox.box import WITHOUT_NAMESPACES
from healthcheck.plan.records import LaunchPlan, ShellRun
from healthcheck.plan.script import deploy_sh, trace
from healthcheck.plan.script.diagnosis import LIMITS, ending
from healthcheck.plan.script.last_lines import error_line, last_lines
from healthcheck.plan.script.permissions import is_refused, limits_of_the_sandbox
from healthcheck.plan.script.stderr import complaints
from healthcheck.records import Finding, Stage
from healthcheck.redact import without_secrets
from healthcheck.repo import bashisms, shell

_EXPECTED = "a model server is started and stays"
_SETTLED_LATER = "verify without --until: the launch stage settles it"


@check(
    "plan/starts-server",
    "deploy.sh starts a model server",
    stage=Stage.PLAN,
    rule=contract.STARTS_THE_SERVICE,
    why="The service runs deploy.sh and then talks to the server that it started.",
    requires=("repo/deploy-sh-present",),
)
def starts_server(plan: LaunchPlan) -> Findings:
    """deploy.sh is run in a sandbox as the service runs it, and has to come to the command that starts a server.

    It runs from a clean export of the commit, with no arguments, no terminal, no input, MODEL_PATH set and little
    else in the environment, under the shell that its first line names and under sh. The programs that it starts
    (vllm, python3, pip, npu-smi, curl …) are stand-ins that record how they were called; nothing is installed,
    downloaded or really launched.

    Where no server is recorded, the message says how the script ended and what it said last. A backslash with a
    space behind it ends a command early: what follows is then no option of it any more. Of several vLLM servers on
    the same devices, whose --gpu-memory-utilization (0.9 or more where it is not given) is above 1 together, the
    later ones end for want of memory.

    Variables with which a server does not come up on an NPU are warnings: VLLM_PLUGINS without ascend,
    ASCEND_LAUNCH_BLOCKING=1 without --enforce-eager, and LD_LIBRARY_PATH or PYTHONPATH with your folders in place
    of CANN's, not in front of them (PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}").
    """
    if not plan.servers:
        yield _never(plan)
        return
    yield from _lost_options(plan)
    if plan.run.ended_by in LIMITS:
        yield fail(
            expected=_EXPECTED,
            seen=f"{LIMITS[plan.run.ended_by][0]}; before that it started: {plan.servers[0].command}",
            fix="end deploy.sh with the server's command",
            where=plan.servers[0].where,
        )
    if too_much := overcommitted(plan):
        yield too_much
    yield from ascend_variables.doubtful(plan)
    if bashisms.find(shell.read(plan.script)):
        return  # repo/deploy-sh-syntax names each with its line
    for run in plan.others:
        if not run.servers or run.ended_by in LIMITS:
            yield _disagreement(plan, run)


def _never(plan: LaunchPlan) -> Finding:
    run = plan.run
    if run.ended_by == "copy":
        return unsettled(
            expected=_EXPECTED,
            seen=f"deploy.sh was not rehearsed: what is to be copied for that has {'; '.join(plan.notes)}",
            fix="keep data and what is built out of the commit; or verify without --until where the NPUs are: the "
            "launch stage settles it",
        )
    said = complaints(run.stderr, plan.script)
    where = next((each.where for each in reversed(said) if each.where), "")
    seen = _ended(plan)
    excused = limits_of_the_sandbox(plan, said)
    if len(excused) == len(said) and (excused or is_refused(plan)):
        seen += f"; {WITHOUT_NAMESPACES}, and what this user may not change stays as it is"
        return unsettled(expected=_EXPECTED, seen=seen, fix=_SETTLED_LATER, where=where)
    guessed = next((each for each in reversed(plan.commands) if each.program == "python:guessed"), None)
    if guessed is not None and not any(each.kind in {"module", "command", "argument"} for each in said):
        seen += f"; a Python program depends on what {', '.join(guessed.argv[2:])} really does"
        return unsettled(expected=_EXPECTED, seen=seen, fix=_SETTLED_LATER)
    cause = ending(plan, said)
    if cause.open_because:
        seen += f"; {cause.open_because}"
        fix = f"{cause.fix}; or verify without --until where the NPUs are: the launch stage settles it"
        return unsettled(expected=_EXPECTED, seen=seen, fix=fix, where=cause.where)
    if cause.told and said[-1] not in excused:
        seen = f"it ended with status {run.exit_status} for want of what plan/self-contained names"
    return fail(
        expected=_EXPECTED,
        seen=f"under {run.shell}, {seen}",
        fix=cause.fix,
        where=cause.where or where,
        evidence={
            "exit_status": run.exit_status,
            "ended_by": run.ended_by,
            "stderr": without_secrets(run.stderr)[-2000:],
        },
    )


def _ended(plan: LaunchPlan) -> str:
    """How deploy.sh ended, with its last words."""
    run = plan.run
    seen, _ = LIMITS.get(run.ended_by, (f"it ended with status {run.exit_status}", ""))
    last, tells = " / ".join(last_lines(run)), error_line(run)
    if tells not in last:
        seen += f"; it said: {tells}"
    if last:
        seen += f"; its last words: {last}"
    elif run.ended_by == "exit" and run.exit_status:
        command = trace.stop(plan).command
        seen += f" without a word{f', behind: {command}' if command else ''}"
    return seen


def _disagreement(plan: LaunchPlan, run: ShellRun) -> Finding:
    last = " / ".join(last_lines(run)) or f"status {run.exit_status}"
    return warn(
        expected=f"the same under {plan.run.shell}, which the first line names, and under {run.shell}",
        seen=f"under {run.shell} no server is started: {last}",
        fix="write deploy.sh without what only bash knows, or keep it executable: which shell runs it is unknown",
        where=f"{contract.ENTRY_POINT}:1",
    )


def _lost_options(plan: LaunchPlan) -> Iterator[Finding]:
    """Options that became commands of their own."""
    text = f"{plan.run.stderr}\n{plan.run.stderr_after}"
    said = [each for each in complaints(text, plan.script) if each.kind == "option"]
    for number, line in enumerate(plan.script.splitlines(), 1):
        following = deploy_sh.line_at(plan.script, number + 1)
        if re.search(r"\\[ \t]+$", line) and following.startswith("-") and not line.lstrip().startswith("#"):
            yield fail(
                expected="one command over several lines",
                seen=f"line {number} ends in a backslash and a space, so {following!r} is no part of the command",
                fix="delete the space behind the backslash",
                where=f"{contract.ENTRY_POINT}:{number}",
            )
            return
    for each in said[:1]:
        yield fail(
            expected="one command over several lines",
            seen=f"{each.text}: the option is a command of its own",
            fix="end the line before it with a backslash, and nothing behind that",
            where=each.where,
        )
