"""On which line a deploy.sh stopped that started no server, and what that line depends on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from healthcheck.plan.records import LaunchPlan
from healthcheck.plan.script import deploy_sh

_TRACED = re.compile(r"\++ (?P<command>\S.*)$")
_KEPT_COMMANDS, _KEPT_CHARACTERS = 8, 160
_ENDS = re.compile(r"(?:exit|return|echo|printf|kill(?! -0)|command sleep|SECONDS=)\b|cat$")
"""Commands that usually follow a failed test."""
_WORD = re.compile(r"[^\s;\"']+")
_RUNS_MORE = re.compile(r"(?:(?:exec|env|time|\.|source)\s+)*(?:\S*/|(?:ba|da)?sh\b|python)")
"""A command that runs a program of the submission."""
_NAME = re.compile(r"(?<![\w-])[A-Za-z_]\w*|\$\{?#|\$\{?[1-9@*]")
_GIVEN = re.compile(r"(?<![\w$])([A-Za-z_]\w*)=|\bfor\s+(\w+)\s+in\b|^\s*(?:function\s+)?(\w+)\s*\(\)")
_BLOCK = re.compile(r"(\s*)(?:for|while|until|function|\w+\s*\(\))(?:\s|$)")
_BLOCK_ENDS = ("done", "}")
_TESTED = re.compile(r"-[nz]\s+\"?\$\{?(?P<name>[A-Z][A-Z0-9_]+)\b(?!\}?:?[-=])(?:\}|\b)")
DEVICES = re.compile(r"npu-smi|/dev/davinci|device_count")
"""What asks a machine for its NPUs."""
ARGUMENTS = re.compile(r"\$(?:[1-9#]|\{(?:[1-9#]|[1-9]:?-)\})")
"""An argument without a default that helps, and their number."""
_ARGUMENT_LOOP = re.compile(r"\s*(?:while|until|for)\b[^\n]*?(?:\$\{?[#@*1-9]|\bgetopts\b)")
"""A loop that does not run where there are no arguments."""
_EMPTY = re.compile(r"(?<![\w$])([A-Za-z_]\w*)=(?:\"\"|''|\"?\$\{\w+:?-\}\"?)?\s*(?:[;#].*)?$")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
INPUT = re.compile(r"(?:^|[;&({!]|\b(?:if|then|do|else))\s*(?:IFS=\S*\s+)?(?:read\b|select\s+\w+\s+in\b)(?!.*<)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The last command that decided, "" where none is known, and the lines that it can be of."""

    command: str
    lines: tuple[int, ...]

    @property
    def line(self) -> int:
        """The line where it is sure, else 0."""
        return self.lines[0] if len(self.lines) == 1 else 0


def traced(stderr: str) -> tuple[str, ...]:
    """The last commands that a shell with -x has shown."""
    found = (match["command"] for match in map(_TRACED.match, stderr.splitlines()) if match)
    return tuple(command[:_KEPT_CHARACTERS] for command in found)[-_KEPT_COMMANDS:]


def stop(plan: LaunchPlan) -> Stop:
    """Where the run ended, as its trace tells it."""
    return stopped(plan.script, plan.run.traced)


@lru_cache(maxsize=8)
def stopped(text: str, commands: tuple[str, ...]) -> Stop:
    """Where a run of deploy.sh, whose text this is, ended after the commands."""
    at = next((at for at in range(len(commands) - 1, -1, -1) if not _ENDS.match(commands[at])), None)
    behind = commands[at + 1 if at is not None else 0 :]
    ends = next((lines[0] for each in behind if len(lines := _lines_of(text, each)) == 1), 0)
    if at is None:
        return Stop(command=commands[-1] if commands else "", lines=(ends,) if ends else ())
    lines = _lines_of(text, commands[at])
    before = [line for line in lines if line <= ends]
    return Stop(command=commands[at], lines=(before[-1],) if before else lines)


def _lines_of(text: str, command: str) -> tuple[int, ...]:
    """The lines that have most of a command's words; a shell shows the values of variables, not their names."""
    words = set(_WORD.findall(command))
    given = re.match(r"\w+=", command)
    scores = {
        number: len(words & set(_WORD.findall(line))) + (given is not None and line.lstrip().startswith(given[0]))
        for number, line in deploy_sh.code_lines(text)
    }
    best = max(scores.values(), default=0)
    return tuple(sorted(number for number, score in scores.items() if score == best)) if best else ()


def asks(plan: LaunchPlan, where: Stop, source: re.Pattern[str]) -> bool:
    """Whether a candidate exit line reads the source or a variable derived from it."""
    names = _made_of(plan.script, source)
    lines = (deploy_sh.line_at(plan.script, number) for number in where.lines)
    return any(source.search(line) or names & set(_names(line)) for line in lines)


def asked_for_devices(plan: LaunchPlan) -> bool:
    """Whether deploy.sh, or what it ran, asked for the NPUs at all."""
    return any(command.program == "npu-smi" for command in plan.commands) or any(
        DEVICES.search(line) for _, line in deploy_sh.code_lines(plan.script)
    )


def stopped_for_devices(plan: LaunchPlan) -> bool:
    """Whether the question for NPUs is what decided that deploy.sh ended."""
    where = stop(plan)
    if asks(plan, where, DEVICES):
        return True
    may_have_asked = not where.lines or _RUNS_MORE.match(where.command) is not None
    return may_have_asked and bool(plan.commands) and plan.commands[-1].program == "npu-smi"


def tested_variable(plan: LaunchPlan, where: Stop) -> str:
    """The variable without a default that the line where it ended tests; "" where there is none."""
    line = deploy_sh.line_at(plan.script, where.line)
    names = (match["name"] for match in _TESTED.finditer(line))
    return next((name for name in names if not deploy_sh.has_value(plan.script, name)), "")


def _made_of(text: str, source: re.Pattern[str]) -> set[str]:
    """Names that receive the value, directly or through other names."""
    names: set[str] = set()
    blocks = list(_blocks(text))
    others = {name for block in blocks if not _ARGUMENT_LOOP.match(block) for name in _filled(block)}
    for block in blocks:
        if _ARGUMENT_LOOP.match(block):
            names |= set(_filled(block)) - others if source.search(block) else set()
        elif source.search(block) or names & set(_names(block)):
            names |= {name for found in _GIVEN.findall(block) for name in found if name}
            names |= {"$#"} if re.search(r"\bset\s+--", block) else set()
            for words in re.findall(r"\bread\b([^;&|<\n]*)", block):
                named = {word for word in _QUOTED.sub("", words).split() if not word.startswith("-")}
                names |= named or {"REPLY"}
    return names


def _filled(block: str) -> Iterator[str]:
    """Variables assigned a non-empty value in the block."""
    empty = set(_EMPTY.findall(block))
    yield from (name for found in _GIVEN.findall(block) for name in found if name and name not in empty)


def _names(line: str) -> Iterator[str]:
    for name in _NAME.findall(line):
        yield name.replace("{", "")


def _blocks(text: str) -> Iterator[str]:
    """Lines; those of a loop or a function, from its first to its last, as one."""
    held: list[str] = []
    margin = ""
    for _, line in deploy_sh.code_lines(text):
        opens = _BLOCK.match(line)
        if not held and not (opens and not re.search(r"(?:\bdone|\})\s*(?:[;|&<>].*)?$", line)):
            yield line
            continue
        margin = opens[1] if opens and not held else margin
        held.append(line)
        if line.startswith(tuple(margin + end for end in _BLOCK_ENDS)):
            yield " ; ".join(held)
            held = []
    yield from held
