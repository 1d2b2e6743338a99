"""Constructs that bash has and POSIX sh lacks, found in a script's code and in nothing else.

The list has what dash refuses or reads differently at run time. Constructs that it cannot parse are left to
its own parser.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.repo.shell import Command, Kind, Script, Token

COMMANDS = {
    "[[": "[[ … ]]: dash looks for a command of that name",
    "source": "source: dash only has “.”",
    "function": "function NAME: dash only has NAME()",
    "declare": "declare", "typeset": "typeset", "shopt": "shopt", "let": "let", "mapfile": "mapfile",
    "readarray": "readarray", "pushd": "pushd", "popd": "popd", "disown": "disown", "select": "select",
    "coproc": "coproc", "compgen": "compgen", "complete": "complete",
}  # fmt: skip
OPERATORS = {
    "&>": "&>: dash runs the command in the background and empties the file",
    "&>>": "&>>: dash runs the command in the background",
    "|&": "|&",
    "<<<": "<<<",
    ";;&": ";;&",
    ";&": ";&",
}
EXPANSIONS = (
    (re.compile(r"\$\{[A-Za-z_]\w*\[|\$\{#[A-Za-z_]\w*\["), "an array"),
    (re.compile(r"\$\{[A-Za-z_]\w*//?[^}]"), "${name/old/new}"),
    (re.compile(r"\$\{[A-Za-z_]\w*:\s*[0-9]"), "${name:offset}"),
    (re.compile(r"\$\{[A-Za-z_]\w*(\^\^?|,,?)[^}]*\}"), "${name^^} or ${name,,}"),
    (re.compile(r"\$\{![A-Za-z_]"), "${!name}"),
    (re.compile(r"\$\{?BASH_SOURCE\b"), "BASH_SOURCE, which is empty outside of bash"),
)
BRACES = re.compile(r"(?<![$\\])\{(\w+\.\.\w+|[^{}\s,'\"]*,[^{}\s'\"]*)\}")
SINGLE_QUOTED = re.compile(r"'[^']*'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bashism:
    """A construct of bash at a line, and what dash does with it if the name alone does not say."""

    line: int
    what: str


def find(script: Script) -> tuple[Bashism, ...]:
    """The constructs that dash does not know, at most one of a kind, in order of their lines."""
    found: dict[str, int] = {}
    for offset, what in (*_in_tokens(script), *_in_commands(script)):
        line = script.line(offset)
        found[what] = min(found.get(what, line), line)
    return tuple(Bashism(line=line, what=what) for what, line in sorted(found.items(), key=lambda item: item[1]))


def runs_itself_in_bash(script: Script) -> int:
    """The line at which a script restarts itself in bash; 0 if it does not."""
    if "BASH" not in script.text:
        return 0
    for command in script.commands():
        words = [word.text.strip("\"'") for word in command.words]
        if words[0] == "exec" and any(word.endswith("bash") for word in words[1:4]) and "$0" in words:
            return script.line(command.start)
    return 0


def _in_tokens(script: Script) -> Iterator[tuple[int, str]]:
    for token in script.tokens:
        if token.kind is Kind.OPERATOR and token.text in OPERATORS:
            yield token.start, OPERATORS[token.text]
        elif token.kind is Kind.ARITHMETIC:
            yield token.start, "(( … )): dash reads two subshells"
        elif token.kind is Kind.WORD:
            yield from ((token.start, what) for what in _in_word(token))


def _in_word(token: Token) -> Iterator[str]:
    if token.text.startswith("$'"):
        yield "$'…'"
    if token.text.startswith(("<(", ">(")):
        yield "process substitution"
    if re.match(r"[A-Za-z_]\w*\+=", token.text):
        yield "name+=value"
    if re.match(r"[A-Za-z_]\w*\+?=\(", token.text):
        yield "an array"
    if token.text[:1] not in {"'", '"'} and BRACES.search(re.sub(r'"[^"]*"|\'[^\']*\'', "", token.text)):
        yield "{a,b} or {1..9}, which dash leaves as it is"
    expanded = SINGLE_QUOTED.sub("", token.text) if not token.text.startswith('"') else token.text
    yield from (what for pattern, what in EXPANSIONS if pattern.search(expanded))


def _in_commands(script: Script) -> Iterator[tuple[int, str]]:
    for command in script.commands():
        name = command.words[0].text
        if name in COMMANDS:
            yield command.start, COMMANDS[name]
        if name in {"[", "test"} and any(word.text == "==" for word in command.words):
            yield command.start, "[ a == b ]: dash only has ="
        if sets_pipefail(command):
            yield command.start, "set -o pipefail: a dash without it ends the script there"
        if name == "wait" and any(word.text == "-n" for word in command.words):
            yield command.start, "wait -n"
        if name == "trap" and command.words[-1].text == "ERR":
            yield command.start, "trap … ERR"


def sets_pipefail(command: Command) -> bool:
    """Whether a command is `set -o pipefail`, also as `set -euo pipefail`."""
    words = [word.text for word in command.words]
    return words[0] == "set" and any(
        re.fullmatch(r"-[a-zA-Z]*o", option) and value == "pipefail" for option, value in itertools.pairwise(words)
    )
