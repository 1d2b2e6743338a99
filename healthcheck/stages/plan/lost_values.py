"""Options of the server that lost their value, each with the cause in deploy.sh.

An argument that the service does not pass, a variable that nothing sets and a command without output leave an
option empty, or make it 0. The check that is about the cause reports it, and the checks of options skip the
consequence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.core.check import fail
from healthcheck.core.records import Finding
from healthcheck.stages.plan.foreign_programs import is_foreign
from healthcheck.stages.plan.need_repairs import variable_repair
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import causes, deploy_sh
from healthcheck.stages.plan.script.causes import Cause, Origin
from healthcheck.stages.plan.script.stderr import Need, complaints
from healthcheck.stages.plan.unmet_needs import EXPECTED
from healthcheck.stages.plan.vllm_cli.catalogue import nearest
from healthcheck.stages.plan.vllm_cli.judgement import problems_of
from healthcheck.text.messages import msg

COUNT_DEVICES = "$(ls /dev/davinci[0-9]* | wc -l)"
"""Prints the number of NPUs: each has a device file, and davinci_manager has no number."""
_COUNTS = re.compile(r"--?(?:tensor|pipeline|data)[-_]parallel[-_]size|--?[tpd]p(?:[-_]size)?")
_BARE_OPTION = re.compile(r"(?P<flag>-[\w-]+)(?:[= ](?:0+|''|\"\")?)?")
_NUMBER = re.compile(r"0+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LostValue:
    """An option without the value that deploy.sh wanted to give it.

    Attributes:
        flag: the option as written; `value` is what it got: "" or "0".
        check: the check that reports the cause.
    """

    flag: str
    value: str
    cause: Cause
    check: str


def lost_values(plan: LaunchPlan) -> tuple[LostValue, ...]:
    """The options of the server that lost their value, each once."""
    server = plan.server
    found = (
        {flag: _lost(plan, flag, value) for flag, value in _empty_options(plan, server)}
        if server
        else {}
    )
    return tuple(filter(None, found.values()))


def findings(plan: LaunchPlan, check: str) -> Iterator[Finding]:
    """A finding for each cause that a check reports."""
    told: set[tuple[Origin, int, str]] = set()
    for lost in lost_values(plan):
        key = (lost.cause.origin, lost.cause.line, lost.cause.name)
        if lost.check == check and key not in told:
            told.add(key)
            seen, fix = in_words(plan, lost)
            yield fail(expected=EXPECTED, seen=seen, fix=fix, where=lost.cause.where)


def _empty_options(plan: LaunchPlan, server: ServerCommand) -> Iterator[tuple[str, str]]:
    """The options that have no value, or 0, where the engine refuses that."""
    for problem in problems_of(server, plan.stack) if server.engine.is_catalogued else ():
        given = server.option(_spellings(plan, problem.flag)[-1]) or ""
        if (
            problem.flag
            and not problem.unknown
            and (not given.strip() or _NUMBER.fullmatch(given.strip()))
        ):
            yield problem.flag, given.strip()
    port = _BARE_OPTION.fullmatch(server.port_source.text)
    if port and not server.port:
        yield port["flag"], "" if server.port is None else "0"


def _lost(plan: LaunchPlan, flag: str, value: str) -> LostValue | None:
    cause = causes.of_option(plan, _spellings(plan, flag))
    return (
        LostValue(flag=flag, value=value, cause=cause, check=_check(plan, cause)) if cause else None
    )


def _spellings(plan: LaunchPlan, flag: str) -> tuple[str, ...]:
    """The flag as written and in its other spellings, the long one last."""
    option = nearest(stacks.row(plan.stack or stacks.DEFAULT).vllm[0]).find(flag.replace("_", "-"))
    return (flag, *option.flags, option.name) if option else (flag,)


def _check(plan: LaunchPlan, cause: Cause) -> str:
    """The check that is about a cause; plan/flags where no other is."""
    if cause.origin is Origin.ARGUMENT:
        return "plan/no-arguments"
    if cause.origin is Origin.UNSHIPPED:
        return "plan/no-missing-files"
    if cause.origin in {Origin.UNSET, Origin.LATER}:
        return "plan/no-other-variables"
    missing = is_foreign(cause.name) or any(
        each.kind is Need.COMMAND and each.name == cause.name and each.where == cause.where
        for each in complaints(plan.run.stderr, plan.script)
    )
    return "plan/no-missing-programs" if missing else "plan/flags"


def in_words(plan: LaunchPlan, lost: LostValue) -> tuple[str, str]:
    """What was seen of the cause, and the repair."""
    cause = lost.cause
    got = (
        msg("{flag} is 0", flag=lost.flag)
        if lost.value
        else msg("{flag} has no value", flag=lost.flag)
    )
    if cause.seen:
        return msg("{seen}, so {got}", seen=cause.seen, got=got), cause.fix
    if cause.origin is Origin.ARGUMENT:
        seen = msg(
            "the service passes no arguments, so ${name} is empty and {got}: “{text}”",
            name=cause.name,
            got=got,
            text=cause.text,
        )
        return seen, _assigned(lost)
    if cause.origin is Origin.UNSET:
        seen = msg(
            "the service does not set {name}, so {got}: “{text}”",
            name=cause.name,
            got=got,
            text=cause.text,
        )
        return seen, variable_repair(plan, cause.name)
    return _of_command(plan, lost, got)


def _assigned(lost: LostValue) -> str:
    """The repair of an argument: the value itself, where it is known."""
    name = lost.cause.name
    if re.fullmatch(r"--(?:server-)?port|-p", lost.flag):
        return msg("write {port} in place of ${name}", port=contract.PORT, name=name)
    if _COUNTS.fullmatch(lost.flag):
        return msg("write {count} in place of ${name}", count=COUNT_DEVICES, name=name)
    return msg(
        "write the value itself in place of ${name}, or remove {flag}", name=name, flag=lost.flag
    )


def _of_command(plan: LaunchPlan, lost: LostValue, got: str) -> tuple[str, str]:
    cause, is_missing = lost.cause, lost.check == "plan/no-missing-programs"
    has = msg("{variable} is {value}", variable=cause.variable, value=lost.value or msg("empty"))
    so = msg("{has} and {got}", has=has, got=got) if cause.variable else got
    line = deploy_sh.line_at(plan.script, cause.line)
    seen = msg(
        "{text} gives no usable value here, so {so}: “{line}”", text=cause.text, so=so, line=line
    )
    if is_missing and cause.name == "nvidia-smi":
        seen = msg(
            "nvidia-smi prints nothing on an Ascend machine, so {so}: “{line}”", so=so, line=line
        )
    elif is_missing:
        seen = msg(
            "{program} is not there, so {so}: “{line}”", program=cause.name, so=so, line=line
        )
    whole = f"{cause.variable}={cause.text}" in line
    if _COUNTS.fullmatch(lost.flag) and cause.variable and whole:
        return seen, msg(
            "write {variable}={count}, or a number", variable=cause.variable, count=COUNT_DEVICES
        )
    if _COUNTS.fullmatch(lost.flag):
        return seen, msg("write {count} in place of {text}", count=COUNT_DEVICES, text=cause.text)
    return seen, msg(
        "write a value in place of {text}, or remove {flag}", text=cause.text, flag=lost.flag
    )
