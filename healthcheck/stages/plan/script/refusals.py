"""Recognises calls that the sandbox refused: nothing that failed afterwards is a failure."""

from __future__ import annotations

import itertools
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
from healthcheck.stages.plan.servers.served import SETTLED_LATER
from healthcheck.text.messages import joined, msg

_NEEDS = {
    os.strerror(NO_NETWORK): msg("a network"),
    os.strerror(NO_OTHERS): msg("to change another process"),
    os.strerror(NO_ATTRIBUTES): msg("to change the mode or the attributes of a file"),
    os.strerror(NO_MEMORY): msg("memory that belongs to no process"),
}
"""What a script needs, by what its programs say of the refusal."""
_SAID = re.compile("|".join(map(re.escape, _NEEDS)))
_NUMBERED = re.compile(r"^(?P<file>[\w./-]+): (?:line )?(?P<line>\d+): ")
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PROGRAM = re.compile(r"^(?:\S*/)?(?P<name>[\w.-]+): ")
_OF_BASH = ("/dev/tcp/", "/dev/udp/")
"""Connections by redirection, of which a script often hides what bash says."""
_SIGNALS = ("timeout ", "kill ")
"""Programs that are silent where a signal is refused; what they should have ended runs on until the time limit."""
_KILL = re.compile(rf"\bkill: .*{re.escape(os.strerror(NO_OTHERS))}")
"""What a shell says of a signal that the sandbox refused."""
NAMESPACES = msg("allow user namespaces, which settles it ({in_docker})", in_docker=IN_DOCKER)
_SETTLES = msg(
    "{namespaces}; or {settled_later}", namespaces=NAMESPACES, settled_later=SETTLED_LATER
)


def cautious(plan: LaunchPlan, findings: Iterable[Finding]) -> Findings:
    """The findings; every failure is unsettled if the sandbox refused a call that the script needs."""
    reasons = tuple(_reasons(plan))
    settles = SETTLED_LATER if plan.observed.isolated else _SETTLES
    for each in findings:
        if not reasons or each.level is not Level.FAIL:
            yield each
        else:
            seen, fix = (
                joined("; ", (each.seen, reasons[0])),
                msg("{fix}; or {settles}", fix=each.fix, settles=settles),
            )
            yield replace(each, level=Level.UNSETTLED, seen=seen, fix=fix)


def refused_kill(plan: LaunchPlan) -> Findings:
    """What a shell says of a process that it could not end, which may have been the server."""
    for line in itertools.islice(filter(_KILL.search, plan.run.stderr.split("\n")), 1):
        where = _place(plan, line)
        seen = _reason(_NEEDS[os.strerror(NO_OTHERS)], where, line.strip())
        yield unsettled(expected=msg("the server stays"), seen=seen, fix=_SETTLES, where=where)


def _reasons(plan: LaunchPlan) -> Iterator[str]:
    """What the script needs and does not get, each with the line that says so."""
    where = ""
    for line in f"{plan.run.stderr}\n{plan.run.stdout}".split("\n"):
        frame = _FRAME.search(line)
        if frame and frame["file"].startswith(f"{plan.root}/"):
            where = f"{frame['file'].removeprefix(f'{plan.root}/')}:{frame['line']}"
        if found := _SAID.search(line):
            yield _reason(_NEEDS[found[0]], _place(plan, line) or where, line.strip())
    if plan.observed.isolated:
        return
    by_bash = deploy_sh.find_line(plan.script, _OF_BASH)
    if by_bash:
        network = _NEEDS[os.strerror(NO_NETWORK)]
        yield _reason(network, deploy_sh.place(by_bash), deploy_sh.line_at(plan.script, by_bash))
    signals = deploy_sh.find_line(plan.script, _SIGNALS)
    if signals and plan.run.ended_by is EndedBy.TIME:
        place = deploy_sh.place(signals)
        yield msg("{place} needs signals, which this sandbox refuses on some kernels", place=place)
    if Mark.NETWORK in plan.observed.marks:
        yield msg("one of its Python programs needs network access, which this sandbox refuses")


def _reason(needs: str, where: str, line: str) -> str:
    who = where or msg("a program")
    return msg(
        "{who} needs {needs}, which this sandbox refuses: “{line}”",
        who=who,
        needs=needs,
        line=line[:200],
    )


def _place(plan: LaunchPlan, line: str) -> str:
    """The file and line that a shell names, or the line of deploy.sh with the program that speaks."""
    if numbered := _NUMBERED.match(line):
        return f"{numbered['file'].removeprefix(f'{plan.root}/').removeprefix('./')}:{numbered['line']}"
    program = _PROGRAM.match(line)
    return deploy_sh.place_of(plan.script, [program["name"]]) if program else ""
