"""Recognises calls that the sandbox refused, after which a failure of the script proves nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from healthcheck.core.check import Findings, unsettled
from healthcheck.core.records import Finding, Level
from healthcheck.sandbox.job import IN_DOCKER, EndedBy
from healthcheck.sandbox.protocol import NO_ATTRIBUTES, NO_MEMORY, NO_NETWORK, NO_OTHERS
from healthcheck.stages.plan.records import LaunchPlan, Mark
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.servers.served import SETTLED_LATER, with_alternative
from healthcheck.text.messages import joined, msg

_NEED_OF_MESSAGE = {
    os.strerror(NO_NETWORK): msg("a network"),
    os.strerror(NO_OTHERS): msg("to change another process"),
    os.strerror(NO_ATTRIBUTES): msg("to change the mode or the attributes of a file"),
    os.strerror(NO_MEMORY): msg("memory that belongs to no process"),
}
"""What a script needs, by the error message of its program when the sandbox refuses it."""
_REFUSAL_MESSAGE = re.compile("|".join(map(re.escape, _NEED_OF_MESSAGE)))
_NUMBERED = re.compile(r"^(?P<file>[\w./-]+): (?:line )?(?P<line>\d+): ")
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PROGRAM = re.compile(r"^(?:\S*/)?(?P<name>[\w.-]+): ")
_BASH_CONNECTIONS = ("/dev/tcp/", "/dev/udp/")
"""Connections by redirection; scripts often discard bash's error messages about them."""
_SIGNAL_SENDERS = ("timeout ", "kill ")
"""Programs that print nothing if a signal is refused; their target then runs until the time limit."""
_REFUSED_KILL = re.compile(rf"\bkill: .*{re.escape(os.strerror(NO_OTHERS))}")
"""A shell's error message about a signal that the sandbox refused."""
NAMESPACES = msg("allow user namespaces, which settles it ({in_docker})", in_docker=IN_DOCKER)
_NAMESPACES_OR_LATER = msg(
    "{namespaces}; or {settled_later}", namespaces=NAMESPACES, settled_later=SETTLED_LATER
)
"""The two ways to get a certain result."""


def unsettle_failures(plan: LaunchPlan, findings: Iterable[Finding]) -> Findings:
    """The findings; every failure is unsettled if the sandbox refused a call that the script needs."""
    refusal = next(_refusals(plan), "")
    settles = SETTLED_LATER if plan.observed.isolated else _NAMESPACES_OR_LATER
    for finding in findings:
        if not refusal or finding.level is not Level.FAIL:
            yield finding
            continue
        yield replace(
            finding,
            level=Level.UNSETTLED,
            seen=joined("; ", (finding.seen, refusal)),
            fix=with_alternative(finding.fix, finding.command, settles),
        )


def refused_kill(plan: LaunchPlan) -> Findings:
    """An unsettled finding if a shell could not end a process, which may have been the server."""
    for line in plan.run.stderr.split("\n"):
        if _REFUSED_KILL.search(line):
            where = _place(plan, line)
            need = _NEED_OF_MESSAGE[os.strerror(NO_OTHERS)]
            yield unsettled(
                expected=msg("the server stays"),
                seen=_describe_refusal(need, where, line.strip()),
                fix=_NAMESPACES_OR_LATER,
                where=where,
            )
            return


def _refusals(plan: LaunchPlan) -> Iterator[str]:
    """The calls that the script needs and the sandbox refused, in words."""
    yield from _reported_by_programs(plan)
    if plan.observed.isolated:
        return
    connection = deploy_sh.find_line(plan.script, _BASH_CONNECTIONS)
    if connection:
        need = _NEED_OF_MESSAGE[os.strerror(NO_NETWORK)]
        line = deploy_sh.line_at(plan.script, connection)
        yield _describe_refusal(need, deploy_sh.place(connection), line)
    signal = deploy_sh.find_line(plan.script, _SIGNAL_SENDERS)
    if signal and plan.run.ended_by is EndedBy.TIME:
        yield msg(
            "{place} needs signals, which this sandbox refuses on some kernels",
            place=deploy_sh.place(signal),
        )
    if Mark.NETWORK in plan.observed.marks:
        yield msg("one of its Python programs needs network access, which this sandbox refuses")


def _reported_by_programs(plan: LaunchPlan) -> Iterator[str]:
    """The refused calls that programs print errors about.

    An error without a place of its own gets that of the last frame of a Python traceback above it.
    """
    frame_place = ""
    for line in f"{plan.run.stderr}\n{plan.run.stdout}".split("\n"):
        frame = _FRAME.search(line)
        if frame and frame["file"].startswith(f"{plan.root}/"):
            frame_place = f"{frame['file'].removeprefix(f'{plan.root}/')}:{frame['line']}"
        refusal = _REFUSAL_MESSAGE.search(line)
        if refusal:
            need = _NEED_OF_MESSAGE[refusal[0]]
            yield _describe_refusal(need, _place(plan, line) or frame_place, line.strip())


def _describe_refusal(need: str, where: str, line: str) -> str:
    return msg(
        "{who} needs {needs}, which this sandbox refuses: “{line}”",
        who=where or msg("a program"),
        needs=need,
        line=line[:200],
    )


def _place(plan: LaunchPlan, line: str) -> str:
    """The place that a shell's error message gives, or the line of deploy.sh with the program that printed it."""
    numbered = _NUMBERED.match(line)
    if numbered:
        file = plan.in_repository(numbered["file"])
        return f"{file}:{numbered['line']}"
    program = _PROGRAM.match(line)
    return deploy_sh.place_of(plan.script, [program["name"]]) if program else ""
