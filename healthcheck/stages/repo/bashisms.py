"""Finds constructs that bash has and POSIX sh lacks, in a script's code but not in its strings and comments.

The list has the constructs that dash rejects or interprets differently at run time. Syntax that dash cannot parse
is left to its own parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.stages.repo.shell import Script
from healthcheck.text.messages import msg

IN_BASH = '[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"'
"""A line that has bash run the script, whichever shell was asked to."""
COMMANDS = {
    "[[": msg("[[ … ]]: dash looks for a command of that name"),
    "source": msg("source: dash only has “.”"),
    "function": msg("function NAME: dash only has NAME()"),
    "declare": "declare", "typeset": "typeset", "shopt": "shopt", "let": "let", "mapfile": "mapfile",
    "readarray": "readarray", "pushd": "pushd", "popd": "popd", "disown": "disown", "select": "select",
    "coproc": "coproc", "compgen": "compgen", "complete": "complete",
}  # fmt: skip
OPERATORS = {
    "&>": msg("&>: dash runs the command in the background and empties the file"),
    "&>>": msg("&>>: dash runs the command in the background"),
    "|&": "|&",
    ";;&": ";;&",
    ";&": ";&",
}
NODES = {
    "array": msg("an array"),
    "subscript": msg("an array"),
    "ansi_c_string": "$'…'",
    "process_substitution": msg("process substitution"),
    "brace_expression": msg("{a,b} or {1..9}, which dash leaves as it is"),
    "herestring_redirect": "<<<",
}
EXPANSIONS = {
    **dict.fromkeys(("/", "//", "/#", "/%"), "${name/old/new}"),
    **dict.fromkeys(("^", "^^", ",", ",,"), "${name^^} or ${name,,}"),
    ":": "${name:offset}",
    "!": "${!name}",
}
QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')
BRACES = re.compile(r"(?<![$\\])\{[^{}\s'\"]*,[^{}\s'\"]*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bashism:
    """A construct of bash and its line; `what` also says what dash does with it if the name does not tell."""

    line: int
    what: str


def find(script: Script) -> tuple[Bashism, ...]:
    """The first occurrence of each construct that dash lacks, sorted by line."""
    found: dict[str, int] = {}
    for offset, what in (*_in_nodes(script), *_in_commands(script)):
        line = script.line(offset)
        found[what] = min(found.get(what, line), line)
    return tuple(
        Bashism(line=line, what=what)
        for what, line in sorted(found.items(), key=lambda item: item[1])
    )


def runs_itself_in_bash(script: Script) -> int:
    """The line at which a script restarts itself in bash; 0 if it does not."""
    if "BASH" not in script.text:
        return 0
    for command in script.commands():
        words = [word.value for word in command.words]
        if (
            words[0] == "exec"
            and any(word.endswith("bash") for word in words[1:4])
            and "$0" in words
        ):
            return script.line(command.start)
    return 0


def _in_nodes(script: Script) -> Iterator[tuple[int, str]]:
    for node in script.nodes:
        around = node.parent.kind if node.parent else ""
        if node.kind in NODES:
            yield node.start, NODES[node.kind]
        elif node.kind in OPERATORS:
            yield node.start, OPERATORS[node.kind]
        elif node.kind == "((" and around in {"compound_statement", "c_style_for_statement"}:
            yield node.start, msg("(( … )): dash reads two subshells")
        elif node.kind == "+=" and around == "variable_assignment":
            yield node.start, "name+=value"
        elif around == "expansion" and node.kind in EXPANSIONS:
            yield node.start, EXPANSIONS[node.kind]
        elif node.kind == "variable_name" and node.text == "BASH_SOURCE":
            yield node.start, msg("BASH_SOURCE, which is empty outside of bash")
        elif node.kind == "==" and node.inside("test_command"):
            yield node.start, msg("[ a == b ]: dash only has =")
        elif node.kind in {"function", "select"}:
            yield node.start, COMMANDS[node.kind]


def _in_commands(script: Script) -> Iterator[tuple[int, str]]:
    for command in script.commands():
        name = command.words[0].text
        if name in COMMANDS:
            yield command.start, COMMANDS[name]
        for word in command.words:
            if word.text[0] not in "\"'" and BRACES.search(QUOTED.sub("", word.text)):
                yield word.start, NODES["brace_expression"]
        if name == "test" and any(word.text == "==" for word in command.words):
            yield command.start, msg("[ a == b ]: dash only has =")
        if name == "set" and re.search(
            r"-[a-zA-Z]*o pipefail\b", " ".join(word.text for word in command.words)
        ):
            yield command.start, msg("set -o pipefail: a dash without it ends the script there")
        if name == "wait" and any(word.text == "-n" for word in command.words):
            yield command.start, "wait -n"
        if name == "trap" and command.words[-1].text == "ERR":
            yield command.start, "trap … ERR"
