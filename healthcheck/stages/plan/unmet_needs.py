"""Findings about what deploy.sh needs but its environment lacks, from the error output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck.core.check import Findings, fail, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan import calls, offline_packages
from healthcheck.stages.plan.foreign_programs import BASH_ONLY, is_foreign
from healthcheck.stages.plan.need_repairs import NeedRepair, need_repair, variable_repair
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh, trace
from healthcheck.stages.plan.script.causes import Origin
from healthcheck.stages.plan.script.missing_files import (
    is_file_of_environment,
    may_be_file_of_image,
)
from healthcheck.stages.plan.script.permissions import (
    caused_by_the_sandbox,
    reports_denial_outside,
    reports_denied_change_of_weights,
)
from healthcheck.stages.plan.script.stderr import Complaint, Need, complaints
from healthcheck.stages.plan.unknown_programs import reason_program_is_unknown
from healthcheck.text.messages import msg

EXPECTED = msg("everything that deploy.sh uses is in the repository or in the service's image")
ARGUMENTS = ("arguments", "input")
VARIABLE = msg("the environment variable")
ASK_NOTHING = msg(
    "give each argument a default, and remove what asks (read, select): the service passes none and types nothing"
)


def reported(plan: LaunchPlan) -> tuple[Complaint, ...]:
    """The complaints that the sandbox did not cause; with a server, without those of steps that may fail."""
    said = complaints(plan.run.stderr, plan.script)
    if plan.server is not None:
        said = tuple(each for each in said if not each.guarded)
    excused = caused_by_the_sandbox(plan, said)
    return tuple(each for each in said if each not in excused)


def findings(plan: LaunchPlan, *kinds: Need) -> Findings:
    """One finding for each missing thing of these kinds.

    Other checks report denied changes of the weights (plan/starts-server), line endings and first lines.
    """
    seen: set[tuple[Need, str]] = set()
    for each in _reportable(plan):
        found = need_repair(plan, each)
        thing = (_kind(each, found), found.cause.name if found.cause else each.name)
        if thing[0] in kinds and thing not in seen:
            seen.add(thing)
            yield from _missing(plan, each, found)


def any_of(plan: LaunchPlan, *kinds: Need) -> bool:
    """Whether something of these kinds is missing."""
    return any(each.kind in kinds for each in _reportable(plan))


def _kind(said: Complaint, found: NeedRepair) -> Need:
    """The kind of the thing that is missing: a file, if it would have set a variable."""
    of_a_file = found.cause is not None and found.cause.origin is Origin.UNSHIPPED
    return Need.FILE if of_a_file else said.kind


def _reportable(plan: LaunchPlan) -> Iterator[Complaint]:
    records = [each.argv for each in plan.commands]
    for each in reported(plan):
        if each.kind is Need.MODULE and calls.is_imported(each.name, records):
            continue  # plan/no-missing-imports reports it
        if offline_packages.is_reported(plan, each.text):
            continue  # plan/starts-server reports it
        of_the_file = "#!" in each.name or r"\r" in each.name
        if not (
            of_the_file
            or reports_denied_change_of_weights(plan, each.text)
            or reports_denial_outside(plan, each.text)
        ):
            yield each


def _missing(plan: LaunchPlan, said: Complaint, found: NeedRepair) -> Iterator[Finding]:
    serves = plan.server is not None
    seen, fix, say = found.seen, found.fix, warn
    if said.kind is Need.FILE and serves and not said.where and "python" not in said.text:
        if deploy_sh.is_written(plan.script, said.name):
            return
        seen, fix = said.text, msg("commit {name}, or remove its use", name=said.name)
    elif not (may_be_file_of_image(plan, said) or (serves and _is_foreign_step(plan, said))):
        if not serves and (unknown := reason_program_is_unknown(plan, said)):
            say, seen = unsettled, msg("{seen}; {unknown}", seen=seen, unknown=unknown)
        elif said.kind is Need.COMMAND and (said.name in BASH_ONLY or serves):
            seen = msg("{name} is not there: {text}", name=said.name, text=said.text)
        else:
            say = fail
    yield say(expected=EXPECTED, seen=seen, fix=fix, where=found.where)


def _is_foreign_step(plan: LaunchPlan, said: Complaint) -> bool:
    """Whether a shell command failed because of something outside the submission, and deploy.sh continued."""
    if said.kind is Need.COMMAND:
        return is_foreign(said.name)
    outside = said.name.startswith("/") and not said.name.startswith(
        (f"{plan.root}/", f"{plan.model_path}/")
    )
    return said.kind is Need.FILE and bool(said.where) and (outside or is_file_of_environment(said))


def usage(plan: LaunchPlan, beginnings: str | tuple[str, ...]) -> Iterator[Finding]:
    """A finding about what a script without a server seems to need, from its output or its last line.

    Only needs that start with one of `beginnings` count: ARGUMENTS or VARIABLE.
    """
    if plan.servers or plan.run.ended_by is not EndedBy.EXIT:
        return
    said = f"{plan.run.stdout}\n{plan.run.stderr}".strip()
    what, line = _silent_demand(plan, said)
    if what.startswith(beginnings):
        seen = msg(
            "it ended with status {exit_status} and seems to need {what}",
            exit_status=plan.run.exit_status,
            what=what,
        )
        if said:
            seen += msg("; it said {said}", said=repr(said[-200:]))
        fix: str = ASK_NOTHING
        if what.startswith(VARIABLE):
            fix = variable_repair(plan, what.rpartition(" ")[2])
        yield fail(expected=EXPECTED, seen=seen, fix=fix, where=deploy_sh.place(line))


def _silent_demand(plan: LaunchPlan, said: str) -> tuple[str, int]:
    """What a script that ended seems to need, and the line; ("", 0) if unknown."""
    arguments = deploy_sh.argument_line(plan.script)
    if arguments and re.search(r"\busage\b|用法|\barguments?\b", said, re.IGNORECASE):
        return "arguments", arguments
    where = trace.stop(plan)
    if plan.run.exit_status and where.line:
        own = deploy_sh.find_line(plan.script, ["set --", "set $"])
        all_of_them = deploy_sh.uses_all_arguments(plan.script, where.line)
        if not own and (all_of_them or (arguments and trace.asks(plan, trace.ARGUMENTS))):
            return "arguments", where.line
        if trace.asks(plan, trace.INPUT):
            return msg("input from a terminal"), where.line
        tested = trace.tested_variable(plan)
        if tested:
            return msg("{variable} {tested}", variable=VARIABLE, tested=tested), where.line
    tests = deploy_sh.tested_variables(plan.script)
    return next(
        (
            (msg("{variable} {name}", variable=VARIABLE, name=name), line)
            for name, line in tests
            if name in said
        ),
        ("", 0),
    )
