"""On which line a deploy.sh stopped that started no server, and what that line depends on."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.plan.records import LaunchPlan, TracedCommand
from healthcheck.plan.script import deploy_sh
from healthcheck.repo import shell
from healthcheck.repo.shell import Node, Script

_TRACED = re.compile(r"\++(?P<file>[^:\n]+):(?P<line>\d{1,9}): (?P<command>\S.*)$", re.MULTILINE)
"""A command as stubs/trace.sh has bash show it. The script can write such lines too: they only choose a line."""
_QUOTED_TEST = re.compile(r"'([][!])'")
"""As bash shows the words of a test."""
_KEPT_COMMANDS, _KEPT_CHARACTERS = 8, 160
_ENDS = re.compile(r"(?:exit|return|echo|printf|kill(?! -0)|command sleep|SECONDS=)\b|cat$")
"""Commands that usually follow a failed test."""
_RUNS_MORE = re.compile(r"(?:(?:exec|env|time|\.|source)\s+)*(?:\S*/|(?:ba|da)?sh\b|python)")
"""A command that runs a program of the submission."""
_NAME = re.compile(r"(?<![\w-])[A-Za-z_]\w*|\$\{?#|\$\{?[1-9@*]")
_LOOPS = ("for_statement", "while_statement")
_BLOCKS = (*_LOOPS, "c_style_for_statement", "function_definition")
_GIVES = ("variable_assignment", "for_statement")
DEVICES = re.compile(r"npu-smi|/dev/davinci|device_count")
"""What asks a machine for its NPUs."""
ARGUMENTS = re.compile(r"\$(?:[1-9#]|\{(?:[1-9#]|[1-9]:?-)\})")
"""An argument without a default that helps, and their number."""
_ASKS_ARGUMENTS = re.compile(r"\$\{?[#@*1-9]|\bgetopts\b")
_EMPTY = re.compile(r"|\$\{\w+:?-\}")
INPUT = re.compile(r"(?:^|[;&({!]|\b(?:if|then|do|else))\s*(?:IFS=\S*\s+)?(?:read\b|select\s+\w+\s+in\b)(?!.*<)")


def traced(text: str, root: str) -> tuple[TracedCommand, ...]:
    """The last commands of a bash's trace; `root` is the folder of deploy.sh."""
    found = tuple(_TRACED.finditer(text))[-_KEPT_COMMANDS:]
    own = {contract.ENTRY_POINT, f"./{contract.ENTRY_POINT}", f"{root}/{contract.ENTRY_POINT}"}
    return tuple(
        TracedCommand(
            text=_QUOTED_TEST.sub(r"\1", each["command"][:_KEPT_CHARACTERS]),
            line=int(each["line"]) if each["file"] in own else 0,
        )
        for each in found
    )


def stop(plan: LaunchPlan) -> TracedCommand:
    """The command with which the run ended, as its trace tells it."""
    return last_command(plan.run.traced)


def last_command(commands: Sequence[TracedCommand]) -> TracedCommand:
    """The last command that decides something, not one that reports or ends; without text if there is none."""
    deciding = (each for each in reversed(commands) if not _ENDS.match(each.text))
    return next(deciding, commands[-1] if commands else TracedCommand())


def asks(plan: LaunchPlan, source: re.Pattern[str]) -> bool:
    """Whether the line where the run ended reads the source or a variable derived from it."""
    line = deploy_sh.line_at(plan.script, stop(plan).line)
    return bool(source.search(line) or _made_of(plan.script, source) & set(_names(line)))


def asked_for_devices(plan: LaunchPlan) -> bool:
    """Whether deploy.sh, or what it ran, asked for the NPUs at all."""
    return any(command.program == "npu-smi" for command in plan.commands) or any(
        DEVICES.search(line) for _, line in deploy_sh.code_lines(plan.script)
    )


def stopped_for_devices(plan: LaunchPlan) -> bool:
    """Whether the question for NPUs is what decided that deploy.sh ended."""
    where = stop(plan)
    if asks(plan, DEVICES):
        return True
    may_have_asked = not where.line or _RUNS_MORE.match(where.text) is not None
    return may_have_asked and bool(plan.commands) and plan.commands[-1].program == "npu-smi"


def tested_variable(plan: LaunchPlan) -> str:
    """The variable without a value that the line where it ended tests; "" where there is none."""
    line = stop(plan).line
    return next((name for name, number in deploy_sh.tested_variables(plan.script) if number == line), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """A line, or the lines of a loop or a function; `loop` if it does not run without arguments."""

    text: str
    nodes: tuple[Node, ...]
    loop: bool

    def given(self) -> Iterator[str]:
        """Names that it gives a value or a body."""
        for node in self.nodes:
            if node.kind in {*_GIVES, "function_definition"}:
                yield node.name
            elif node.name == "read":
                words = [child.text for child in node.children if child.kind == "word"]
                yield from [word for word in words if word[0] != "-"] or ["REPLY"]
            elif node.name == "set" and any(child.text == "--" for child in node.children):
                yield "$#"

    def filled(self) -> set[str]:
        """Names that it gives a value that is not empty, wherever it gives them one."""
        values = [(node.name, node.part("value")) for node in self.nodes if node.kind in _GIVES]
        empty = {name for name, value in values if not value or _EMPTY.fullmatch(value.text.strip("\"'"))}
        return set(self.given()) - empty


def _made_of(text: str, source: re.Pattern[str]) -> set[str]:
    """Names that receive the value, directly or through other names."""
    names: set[str] = set()
    blocks = tuple(_blocks(shell.read(text)))
    others = {name for block in blocks if not block.loop for name in block.filled()}
    for block in blocks:
        if block.loop:
            names |= block.filled() - others if source.search(block.text) else set()
        elif source.search(block.text) or names & set(_names(block.text)):
            names |= set(block.given())
    return names


def _names(line: str) -> Iterator[str]:
    for name in _NAME.findall(line):
        yield name.replace("{", "")


def _blocks(script: Script) -> Iterator[_Block]:
    first: dict[int, int] = {}
    for node in script.of(*_BLOCKS):
        if not node.inside(*_BLOCKS):
            start = script.line(node.start)
            first.update(dict.fromkeys(range(start, script.line(node.end) + 1), first.get(start, start)))
    nodes: dict[int, list[Node]] = defaultdict(list)
    for node in script.nodes:
        line = script.line(node.start)
        nodes[first.get(line, line)].append(node)
    lines = deploy_sh.code_lines(script.text)
    for start, own in itertools.groupby(lines, lambda each: first.get(each[0]) or each[0]):
        loop = any(node.kind in _LOOPS and _ASKS_ARGUMENTS.search(_head(node)) for node in nodes[start])
        yield _Block(text="\n".join(line for _, line in own), nodes=tuple(nodes[start]), loop=loop)


def _head(loop: Node) -> str:
    """What a loop goes over, or tests."""
    body = loop.part("body")
    return loop.source[loop.start : body.start if body else loop.end]
