"""Finds variables that deploy.sh assigns for a server but does not export, so that the server does not get them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.core.edits import replaced
from healthcheck.core.records import Edit
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Node, Script
from healthcheck.text.messages import Message, msg

_PRINTS = {"echo", "printf", "log", "info"}
_STATEMENTS = ("command", "declaration_command")
"""Parents of an assignment that is for one command only (`A=1 vllm …`), or is declared (`export A=1`)."""

_ALL = re.compile(r"-\w*a\w*|allexport")
"""The options of `set` that export every variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexported:
    """A variable that a script assigns and never exports.

    Attributes:
        file, line: the first assignment.
        text: that assignment ("HCCL_BUFFSIZE=1024").
        edits: export it at each assignment.
    """

    name: str
    file: str
    line: int
    text: str
    edits: tuple[Edit, ...]

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def seen(self) -> Message:
        return msg(
            "{name} is assigned in {place} and not exported (“{text}”), so the server does not get it",
            name=self.name,
            place=self.where,
            text=self.text,
        )


def unexported(plan: LaunchPlan, servers: Sequence[ServerCommand], name: str) -> Unexported | None:
    """The assignment of a variable that none of the servers got; None if there is no such assignment."""
    if not servers or any(name in server.env for server in servers):
        return None
    texts = [
        (contract.ENTRY_POINT, plan.script),
        *((each.path, each.text) for each in plan.sourced),
    ]
    if any(_is_declared(shell.read(text), name) for _, text in texts):
        return None
    for file, text in texts:
        script = shell.read(text)
        given = [node for node in _assigned(script) if node.name == name]
        if given and "\r" not in text:
            return Unexported(
                name=name,
                file=file,
                line=script.line(given[0].start),
                text=given[0].text[:200],
                edits=tuple(dict.fromkeys(_exported(file, text, node) for node in given)),
            )
    return None


def names(plan: LaunchPlan) -> Iterator[str]:
    """The variables that deploy.sh, or a file that it sources, assigns and does not use, except to print them."""
    scripts = [shell.read(text) for text in (plan.script, *(each.text for each in plan.sourced))]
    used = {
        node.name
        for script in scripts
        for node in script.of("simple_expansion", "expansion")
        if not (_is_printed(node) or _is_own_default(node))
    }
    found = (node.name for script in scripts for node in _assigned(script))
    yield from (name for name in dict.fromkeys(found) if name not in used)


def _assigned(script: Script) -> Iterator[Node]:
    """The assignments of ordinary shell variables with a value."""
    for node in script.of("variable_assignment"):
        value, around = node.part("value"), node.parent
        plain = around is None or around.kind not in _STATEMENTS
        if plain and value is not None and value.text.strip("\"'") and value.kind != "array":
            yield node


def _is_declared(script: Script, name: str) -> bool:
    """Whether the script exports, declares or unsets the variable, or exports all of them (`set -a`)."""
    for command in script.all_commands():
        words = [word.text for word in command.words]
        if command.node.kind in {"declaration_command", "unset_command"} and any(
            word.strip("\"'").partition("=")[0] == name for word in words
        ):
            return True
        options = words[1:] if command.name in {"set", "export", "eval"} else []
        if any(_ALL.fullmatch(word) or "$" in word for word in options):
            return True
    return False


def _is_printed(node: Node) -> bool:
    """Whether an expansion is in the words of a command that only prints."""
    commands = (around for around in node.around() if around.kind == "command")
    return any(command.name in _PRINTS for command in commands)


def _is_own_default(node: Node) -> bool:
    """Whether an expansion is in the variable's own assignment: A=${A:-1}."""
    assigned = (around for around in node.around() if around.kind == "variable_assignment")
    return any(each.name == node.name for each in assigned)


def _exported(file: str, text: str, node: Node) -> Edit:
    """Insert `export` before the statement with the assignment."""
    around = node.parent
    start = around.start if around and around.kind == "variable_assignments" else node.start
    return replaced(file, text, start, node.end, f"export {text[start : node.end]}")
