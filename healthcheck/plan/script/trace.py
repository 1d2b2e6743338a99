"""On which line a deploy.sh stopped that started no server, and what that line depends on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from healthcheck import contract
from healthcheck.plan.records import LaunchPlan, TracedCommand
from healthcheck.plan.script import deploy_sh

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
    """The variable without a default that the line where it ended tests; "" where there is none."""
    line = deploy_sh.line_at(plan.script, stop(plan).line)
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
