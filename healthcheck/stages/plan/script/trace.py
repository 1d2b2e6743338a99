"""Determines the line where a deploy.sh without a server stopped, and what that line depends on."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator, Sequence

from healthcheck import contract
from healthcheck.stages.plan.records import LaunchPlan, TracedCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Node

_TRACED = re.compile(
    r"^\+{1,50}(?P<file>[^+:\n][^:\n]*):(?P<line>\d{1,9}): (?P<command>\S.*)$", re.MULTILINE
)
"""A command as bash prints it for stubs/trace.sh. The script can forge such lines; they only select a line."""
_QUOTED_TEST = re.compile(r"'([][!])'")
"""A bracket or "!" of a test, which bash quotes."""
_KEPT_COMMANDS, _KEPT_CHARACTERS = 8, 160
_ENDS = re.compile(r"(?:exit|return|echo|printf|kill(?! -0)|command sleep|SECONDS=)\b|cat$")
"""Commands that usually follow a failed test."""
_RUNS_MORE = re.compile(r"(?:(?:exec|env|time|\.|source)\s+)*(?:\S*/|(?:ba|da)?sh\b|python)")
"""A command that runs a program of the submission."""
_NAME = re.compile(r"(?<![\w-])[A-Za-z_]\w*|\$\{?#|\$\{?[1-9@*]")
_LOOPS = ("for_statement", "while_statement")
_BLOCKS = (*_LOOPS, "c_style_for_statement", "function_definition")
_GIVES = ("variable_assignment", "for_statement", "function_definition")
_LISTS = (
    "command",
    "declaration_command",
    "variable_assignments",
    "list",
    "pipeline",
    "redirected_statement",
)
DEVICES = re.compile(r"npu-smi|/dev/davinci|device_count")
"""Queries for the NPUs of a machine."""
ARGUMENTS = re.compile(r"\$(?:[1-9#]|\{(?:[1-9#]|[1-9]:?-)\})")
"""An argument without a usable default, or the number of arguments."""
_ASKS_ARGUMENTS = re.compile(r"\$\{?[#@*1-9]|\bgetopts\b")
_EMPTY = re.compile(r"|\$\{\w+:?-\}")
INPUT = re.compile(
    r"(?:^|[;&({!]|\b(?:if|then|do|else))\s*(?:IFS=\S*\s+)?(?:read\b|select\s+\w+\s+in\b)(?!.*<)"
)


def traced(text: str, root: str, kit: str) -> tuple[TracedCommand, ...]:
    """The last commands in a trace of bash, without those of the stubs; `root` is the folder of deploy.sh."""
    theirs = (each for each in _TRACED.finditer(text) if not each["file"].startswith(f"{kit}/"))
    found = deque(theirs, maxlen=_KEPT_COMMANDS)
    own = {contract.ENTRY_POINT, f"./{contract.ENTRY_POINT}", f"{root}/{contract.ENTRY_POINT}"}
    return tuple(
        TracedCommand(
            text=_QUOTED_TEST.sub(r"\1", each["command"][:_KEPT_CHARACTERS]),
            line=int(each["line"]) if each["file"] in own else 0,
        )
        for each in found
    )


def stop(plan: LaunchPlan) -> TracedCommand:
    """The command that ended the run, according to the trace."""
    return last_command(plan.run.traced)


def last_command(commands: Sequence[TracedCommand]) -> TracedCommand:
    """The last command that is not just a report or an exit, else the last one; empty without commands."""
    deciding = (each for each in reversed(commands) if not _ENDS.match(each.text))
    return next(deciding, commands[-1] if commands else TracedCommand())


def asks(plan: LaunchPlan, source: re.Pattern[str]) -> bool:
    """Whether the line where the run ended reads the source or a variable derived from it."""
    line = deploy_sh.line_at(plan.script, stop(plan).line)
    return bool(source.search(line) or _made_of(plan.script, source) & set(_names(line)))


def asked_for_devices(plan: LaunchPlan) -> bool:
    """Whether deploy.sh, or a program that it ran, queried the NPUs."""
    return any(command.program == "npu-smi" for command in plan.commands) or any(
        DEVICES.search(line) for _, line in deploy_sh.code_lines(plan.script)
    )


def stopped_for_devices(plan: LaunchPlan) -> bool:
    """Whether deploy.sh ended because of a query for NPUs."""
    where = stop(plan)
    if asks(plan, DEVICES):
        return True
    may_have_asked = not where.line or _RUNS_MORE.match(where.text) is not None
    return may_have_asked and bool(plan.commands) and plan.commands[-1].program == "npu-smi"


def tested_variable(plan: LaunchPlan) -> str:
    """The variable without a value that the last line tests; "" if there is none."""
    line = stop(plan).line
    return next(
        (name for name, number in deploy_sh.tested_variables(plan.script) if number == line), ""
    )


def _made_of(text: str, source: re.Pattern[str]) -> set[str]:
    """Names that receive the value, directly or through other names."""
    script = shell.read(text)
    code = script.without("comment")
    gives = (node for node in script.nodes if node.kind in _GIVES or node.name in {"read", "set"})
    giving = ((unit, list(nodes)) for unit, nodes in itertools.groupby(gives, _unit))
    units = [
        (code[unit.start : unit.end], _goes_over_arguments(unit), nodes) for unit, nodes in giving
    ]
    others = {name for _, skipped, nodes in units if not skipped for name in _filled(nodes)}
    names: set[str] = set()
    for part, skipped, nodes in units:
        if skipped:
            names |= _filled(nodes) - others if source.search(part) else set()
        elif source.search(part) or names & set(_names(part)):
            names |= {name for node in nodes for name in _given(node)}
    return names


def _given(node: Node) -> set[str]:
    """Names that the node assigns or defines."""
    if node.kind in _GIVES:
        return {node.name}
    words = [child.text for child in node.children if child.kind == "word"]
    if node.name == "set":
        return {"$#"} if "--" in words else set()
    return {word for word in words if word[0] != "-"} or {"REPLY"}


def _filled(nodes: list[Node]) -> set[str]:
    """Names whose assigned values are never empty."""
    values = [(node.name, node.part("value")) for node in nodes if node.kind in _GIVES]
    empty = {
        name for name, value in values if not value or _EMPTY.fullmatch(value.text.strip("\"'"))
    }
    return {name for node in nodes for name in _given(node)} - empty


def _unit(node: Node) -> Node:
    """The outermost loop or function around the node, else its whole command."""
    unit, goes_on = node, True
    for around in node.around():
        goes_on = around.kind in _BLOCKS or (goes_on and around.kind in _LISTS)
        unit = around if around.kind in _BLOCKS or (goes_on and around.kind in _LISTS) else unit
    return unit


def _goes_over_arguments(unit: Node) -> bool:
    """Whether the unit has a loop that does not run without arguments."""
    return any(_ASKS_ARGUMENTS.search(_head(node)) for node in unit.below(*_LOOPS))


def _head(loop: Node) -> str:
    """The list or condition of a loop."""
    body = loop.part("body")
    return loop.source[loop.start : body.start if body else loop.end]


def _names(text: str) -> Iterator[str]:
    return (name.replace("{", "") for name in _NAME.findall(text))
