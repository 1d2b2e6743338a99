"""Finds the cause of a value that is missing, empty or 0: where it comes from in deploy.sh."""

from __future__ import annotations

import enum
import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath

from healthcheck.core.commands import Commanded, file_words
from healthcheck.stages.plan.records import LaunchPlan, UnshippedFile
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Node, Script
from healthcheck.text.messages import msg
from healthcheck.text.redact import secret_lines

DEEPEST = 8
"""Variables that are made of each other."""
_EXPANSIONS = ("simple_expansion", "expansion")
_DEFAULTS = {":-", "-", ":=", "=", ":?", "?"}
_ARGUMENT = re.compile(r"[1-9@*]")
_CONDITIONAL = ("if_statement", "case_statement", "while_statement", "for_statement", "list")
_OWN_SCOPE = ("function_definition", "subshell", "command_substitution")
_READS = re.compile(
    r"(?:^|[;&|{(]|\b(?:then|do|else))\s*(?:\.|source|export|set|eval|cat|xargs|env|declare)\s"
)


MAX_VALUE = 200
_ASSIGNED = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)")


class Origin(enum.Enum):
    """Where a missing value should have come from."""

    ARGUMENT = "argument"
    UNSET = "unset"
    LATER = "later"
    UNSHIPPED = "unshipped"
    COMMAND = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The cause of a missing value.

    Attributes:
        name: the argument, the variable, the file, or the program of a command.
        variable: the variable that got the value first, "" for none.
        line: the line of deploy.sh with the cause.
        text: its part of that line: "NPUS=$(nvidia-smi -L | wc -l)".
        seen: the cause in words. `fix`: its repair.
    """

    origin: Origin
    name: str
    line: int
    variable: str = ""
    text: str = ""
    seen: str = ""
    fix: str = ""

    @property
    def where(self) -> str:
        return deploy_sh.place(self.line)


def of_variable(plan: LaunchPlan, name: str, line: int) -> Cause | None:
    """Why a variable has no value in a line of deploy.sh; None if the script never gives it one."""
    lines = plan.script.splitlines(keepends=True)
    return _unset(
        plan, shell.read(plan.script), name, sum(map(len, lines[: max(0, line - 1)])), line
    )


def of_option(plan: LaunchPlan, flags: tuple[str, ...]) -> Cause | None:
    """The cause of an option's missing value, by the last place of deploy.sh that writes the option."""
    script = shell.read(plan.script)
    spelled = "|".join(re.escape(flag).replace(r"\-", "[-_]") for flag in flags if flag)
    before = (
        re.compile(rf"(?<![\w-])(?:{spelled})(?:=|(?:[ \t]|\\\n)+)[\"']?\Z") if spelled else None
    )
    kinds = (*_EXPANSIONS, "command_substitution", "arithmetic_expansion")
    for node in reversed(list(script.of(*kinds)) if before else []):
        if before and before.search(plan.script, max(0, node.start - 200), node.start):
            return _of_node(plan, script, node, "", DEEPEST)
    return None


def unshipped_path(plan: LaunchPlan, path: str) -> str:
    """The uncommitted file of the author's folder, or the folder around it, for a path; "" if there is none."""
    name = plan.in_repository(path)
    return next(
        (each for each in plan.unshipped if f"{name}/".startswith(f"{each.rstrip('/')}/")), ""
    )


def file_to_commit(plan: LaunchPlan, path: str, unshipped: str) -> str:
    """The file to commit for a path below an uncommitted file or folder: one file, never the rest of its folder."""
    name = plan.in_repository(path)
    return name if unshipped.endswith("/") else unshipped


def commit(path: str) -> Commanded:
    """How to commit a file, also one that git ignores."""
    name = path.rstrip("/")
    command = f"git add -f {file_words(name)} && git commit -m {shlex.quote(f'Add {name}')}"
    return Commanded(msg("commit {file}", file=name), command)


def _of_node(
    plan: LaunchPlan, script: Script, node: Node, variable: str, depth: int
) -> Cause | None:
    """The cause of an empty expansion or substitution; `variable` is the one that it is assigned to."""
    line = script.line(node.start)
    if node.kind == "command_substitution":
        program = next((each.name for each in node.below("command")), "")
        return Cause(
            origin=Origin.COMMAND, name=program, line=line, variable=variable, text=node.text
        )
    if node.kind == "arithmetic_expansion":
        parts = (
            each for each in node.below(*_EXPANSIONS, "command_substitution") if each is not node
        )
        found = (_of_node(plan, script, each, variable, depth - 1) for each in parts)
        return next(filter(None, found), None) if depth else None
    if any(child.role == "" and child.kind in _DEFAULTS for child in node.children):
        return None
    if _ARGUMENT.fullmatch(node.name):
        inside = node.inside("function_definition")
        text = deploy_sh.line_at(script.text, line)
        return (
            None if inside else Cause(origin=Origin.ARGUMENT, name=node.name, line=line, text=text)
        )
    return _of_name(plan, script, node.name, node.start, depth)


def _of_name(plan: LaunchPlan, script: Script, name: str, at: int, depth: int) -> Cause | None:
    """The cause of a variable without a value where it is used, at an offset."""
    given = [
        node for node in script.of("variable_assignment") if node.name == name and node.start < at
    ]
    if not given:
        return _unset(plan, script, name, at, script.line(at))
    value = given[-1].part("value")
    kinds = (*_EXPANSIONS, "command_substitution", "arithmetic_expansion")
    if value is None or not depth:
        return None
    outer = next(value.below(*kinds), None)
    return _of_node(plan, script, outer, name, depth - 1) if outer else None


def _unset(plan: LaunchPlan, script: Script, name: str, at: int, line: int) -> Cause | None:
    """The cause of a variable that nothing before an offset assigns."""
    text = deploy_sh.line_at(script.text, line)
    for file in plan.unshipped_files:
        if name in file.sets and (read := _reading_line(script, file.path)):
            return _unshipped(file, name, read)
    given = [node for node in script.of("variable_assignment") if node.name == name]
    later = next((node for node in given if node.start > at and not _is_conditional(node)), None)
    if later and not any(node.start < at for node in given):
        behind = script.line(later.start)
        if behind > line:
            seen = msg(
                "line {line} uses {name}, and line {later} assigns it: “{text}”",
                line=line,
                name=name,
                later=behind,
                text=text,
            )
            assigned = deploy_sh.line_at(script.text, behind)
            fix = msg(
                "move line {later} above line {line}: {assigned}",
                later=behind,
                line=line,
                assigned=assigned,
            )
            return Cause(
                origin=Origin.LATER, name=name, line=line, variable=name, seen=seen, fix=fix
            )
    return (
        None
        if given
        else Cause(origin=Origin.UNSET, name=name, line=line, variable=name, text=text)
    )


def _is_conditional(node: Node) -> bool:
    return node.inside(*_CONDITIONAL, *_OWN_SCOPE) or bool(
        node.parent and node.parent.kind == "command"
    )


def _unshipped(file: UnshippedFile, name: str, line: int) -> Cause:
    seen = msg(
        "line {line} reads {file}, which sets {name} and is in your folder but not in the commit",
        line=line,
        file=file.path,
        name=name,
    )
    fix: str = commit(file.path)
    if file.has_secret:
        fix = msg(
            "remove every use of {name}: the service provides no token and sends no key", name=name
        )
    if file.has_secret and file.sets[name]:
        fix = msg(
            "write {name}={value} above line {line}; do not commit {file}, which has a secret",
            name=name,
            value=file.sets[name],
            line=line,
            file=file.path,
        )
    return Cause(
        origin=Origin.UNSHIPPED, name=file.path, line=line, variable=name, seen=seen, fix=fix
    )


def _reading_line(script: Script, path: str) -> int:
    """The line of deploy.sh that reads a file, best one that sources it; 0 if no line names it."""
    named = re.compile(rf"(?<![\w.-]){re.escape(PurePosixPath(path).name)}(?![\w-])")
    lines = [
        (number, line) for number, line in deploy_sh.code_lines(script.text) if named.search(line)
    ]
    return next(
        (number for number, line in lines if _READS.search(line)), lines[0][0] if lines else 0
    )


def read_settings(path: str, text: str) -> UnshippedFile:
    """The variables that the lines of a settings file assign; the value of a secret is left out."""
    secrets = {number for number, _ in secret_lines(text)}
    sets = dict[str, str]()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _ASSIGNED.match(line):
            sets[found["name"]] = "" if number in secrets else found["value"].strip()[:MAX_VALUE]
    return UnshippedFile(path=path, sets=sets, has_secret=bool(secrets))
