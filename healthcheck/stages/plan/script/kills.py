"""Finds where deploy.sh kills processes that it looked up, in its text."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Command, Node, Script

_LOOKS_UP = {"lsof", "fuser", "ps", "pgrep", "pidof", "netstat", "ss"}
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_EXPANSIONS = ("simple_expansion", "expansion")
_HARMLESS = {"-0", "-l", "-L"}
"""Options with which kill sends no signal."""


def lines(text: str) -> tuple[int, ...]:
    """The lines that kill processes found by name or port (`kill $(lsof -t -i:8000)`, `ps … | xargs kill`).

    Functions that nothing calls, as those for `trap`, and branches of `case` do not count: whether they run depends
    on arguments and signals.
    """
    script = shell.read(text)
    found = _filled_by_lookups(script)
    called = {command.name for command in script.all_commands()}
    return tuple(
        dict.fromkeys(
            script.line(command.start)
            for command in script.runs("kill", "xargs")
            if _kills(command)
            and _runs(command.node, called)
            and _is_looked_up(command.node, found)
        )
    )


def _kills(command: Command) -> bool:
    words = [word.value for word in command.words]
    return (command.name == "kill" or "kill" in words) and _HARMLESS.isdisjoint(words)


def _runs(node: Node, called: set[str]) -> bool:
    """Whether the command is likely to run in a launch."""
    around = list(node.around())
    uncalled = any(
        each.kind == "function_definition" and each.name not in called for each in around
    )
    return not uncalled and all(each.kind != "case_item" for each in around)


def _filled_by_lookups(script: Script) -> frozenset[str]:
    """The variables that hold processes which a program looked up."""
    nodes = script.of("variable_assignment", "for_statement")
    return frozenset(node.name for node in nodes if any(map(_has_lookup, _values(node))))


def _values(node: Node) -> Iterator[Node]:
    """The parts of an assignment or a loop that give the variable its value."""
    return (child for child in node.children if child.kind != "do_group")


def _has_lookup(node: Node) -> bool:
    return any(command.name in _LOOKS_UP for command in node.below("command"))


def _is_looked_up(node: Node, variables: frozenset[str]) -> bool:
    """Whether a kill gets its processes from a lookup: in its words, through a pipe, or in a variable."""
    substituted = any(map(_has_lookup, node.below(*_SUBSTITUTIONS)))
    piped = any(each.kind == "pipeline" and _has_lookup(each) for each in node.around())
    return substituted or piped or any(each.name in variables for each in node.below(*_EXPANSIONS))
