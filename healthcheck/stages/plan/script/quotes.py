"""Finds where a blank would split the value of a variable: in deploy.sh, or in a text that deploy.sh executes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.core.edits import replaced
from healthcheck.core.records import Edit
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Command, Node, Script

_EXPANSIONS = ("simple_expansion", "expansion")
_RUN_TEXT = re.compile(r"(?:.*/)?(?:eval|bash|sh|dash|zsh|ksh)")
MOST_TEXTS, MOST_NAMES = 50, 8
_PATH = re.compile(r"(?:\$(?:\w|\{\w+\})|[\w./:@+-])+")
"""Each character belongs to one alternative; otherwise a mismatch would be tried in 2**n ways."""
_OPTION = re.compile(r"--[\w-]+")
_BETWEEN_WORDS = re.compile(r"\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A place where a blank splits the value.

    Attributes:
        variable: the variable itself, a derived name ("CKPT_DIR"), or a whole array ("{cmd[@]}").
        line: the line of deploy.sh.
        pasted: the value becomes part of a text that is executed as a command.
    """

    variable: str
    line: int
    pasted: bool = False


def splits(text: str, variable: str) -> tuple[Split, ...]:
    """The places in the order of the text; if a command is built as a text, only the lines that build it."""
    script = shell.read(text)
    held, built = _holders(script, variable)
    pasted = tuple(dict.fromkeys((*_built(script, built), *_run_as_text(script, held))))
    if pasted:
        return pasted
    arrays = _arrays(script, held)
    bare = [node for node in script.of(*_EXPANSIONS) if not _is_kept_whole(node)]
    found = [
        Split(variable=node.name, line=script.line(node.start))
        for node in bare
        if node.name in held
    ]
    found += [
        Split(variable=node.text[1:], line=script.line(node.start))
        for node in bare
        if _of(node) in arrays
    ]
    return tuple(dict.fromkeys(sorted(found, key=lambda split: split.line)))


def quoting(text: str, variable: str) -> tuple[Edit, ...]:
    """Put quotes around each bare word with the value.

    There are no edits if a command is built as a text, or a word is not plain.
    """
    script = shell.read(text)
    held, built = _holders(script, variable)
    words = {word.start: word for command in script.all_commands() for word in command.words}
    if "\r" in text or any(True for _ in (*_built(script, built), *_run_as_text(script, held))):
        return ()
    edits = []
    for node in script.of(*_EXPANSIONS):
        if node.name not in held or _is_kept_whole(node):
            continue
        word = next(
            (word for word in words.values() if word.start <= node.start and node.end <= word.end),
            None,
        )
        option, equals, value = word.text.partition("=") if word else ("", "", "")
        start = word.start + len(option) + 1 if word and equals else node.start
        value = value if equals else word.text if word else ""
        if word is None or not _PATH.fullmatch(value) or (equals and not _OPTION.fullmatch(option)):
            return ()
        start = start if equals else word.start
        edits.append(replaced(contract.ENTRY_POINT, text, start, start + len(value), f'"{value}"'))
    return tuple(dict.fromkeys(edits))


def holders(text: str, variable: str) -> frozenset[str]:
    """The variables that have the value, or a path below it."""
    return _holders(shell.read(text), variable)[0]


def _holders(script: Script, variable: str) -> tuple[frozenset[str], dict[str, Node]]:
    """The variables with the value, and those with a command that contains it, each with its assignment."""
    held, built = {variable}, dict[str, Node]()
    for node in script.of("variable_assignment"):
        value = node.part("value")
        if value is None or node.name == variable or value.kind == "array":
            continue
        inside = [each for each in value.below(*_EXPANSIONS) if not _runs_first(each, value)]
        if any(each.name in built for each in inside):
            built[node.name] = node
        elif any(each.name in held for each in inside):
            literal = "".join(each.text for each in value.below("string_content"))
            if _BETWEEN_WORDS.search(literal):
                built[node.name] = node
            else:
                held.add(node.name)
    return frozenset(held), built


def _arrays(script: Script, held: frozenset[str]) -> frozenset[str]:
    given = ((node.name, node.part("value")) for node in script.of("variable_assignment"))
    return frozenset(
        name
        for name, value in given
        if value is not None
        and value.kind == "array"
        and any(each.name in held for each in value.below(*_EXPANSIONS))
    )


def _of(expansion: Node) -> str:
    """The array in an expansion; "" for none."""
    return next((child.name for child in expansion.children if child.kind == "subscript"), "")


def _runs_first(node: Node, value: Node) -> bool:
    """Whether a command substitution uses the expansion, so that the assignment gets only its output."""
    return any(
        each.kind == "command_substitution" and each.start >= value.start for each in node.around()
    )


def _built(script: Script, built: dict[str, Node]) -> Iterator[Split]:
    """The variables with a command that is executed, not only printed."""
    for name, node in built.items():
        for command in script.all_commands():
            first = command.words[0]
            used = [each for each in command.node.below(*_EXPANSIONS) if each.name == name]
            split = any(each.start == first.start or not _is_kept_whole(each) for each in used)
            if split or (used and _runs_text(command)):
                yield Split(variable=name, line=script.line(node.start), pasted=True)
                break


def _run_as_text(script: Script, held: frozenset[str]) -> Iterator[Split]:
    """Literal texts that are executed: eval "vllm serve $MODEL_PATH", bash -c '…'."""
    runs = (command for command in script.all_commands() if _runs_text(command))
    for command in itertools.islice(runs, MOST_TEXTS):
        for node in command.node.below("string", "raw_string"):
            line = script.line(node.start)
            if node.kind == "raw_string":
                names = [name for name in held if name in node.text][:MOST_NAMES]
                inner = (split for name in names for split in splits(node.text.strip("'"), name))
                yield from (
                    Split(variable=each.variable, line=line + each.line - 1, pasted=True)
                    for each in inner
                )
            elif _BETWEEN_WORDS.search("".join(each.text for each in node.below("string_content"))):
                used = (each for each in node.below(*_EXPANSIONS) if each.name in held)
                yield from (
                    Split(variable=each.name, line=script.line(each.start), pasted=True)
                    for each in used
                    if not _is_escaped(node, each)
                )


def _runs_text(command: Command) -> bool:
    """Whether the command is eval or a shell, also after `exec` and similar words."""
    return any(_RUN_TEXT.fullmatch(word.text) for word in command.words[:3])


def _is_escaped(string: Node, expansion: Node) -> bool:
    r"""Whether the expansion has its own quotes in the string: "… \"$MODEL_PATH\"" or "… '$MODEL_PATH'"."""
    before = string.source[max(string.start, expansion.start - 2) : expansion.start]
    return before.endswith(('\\"', "'"))


def _is_kept_whole(node: Node) -> bool:
    """Whether the context of an expansion protects its value from splitting at blanks."""
    inner = node
    for around in node.around():
        if around.kind in {"string", "heredoc_body"} or (
            around.kind == "test_command" and around.text[:2] == "[["
        ):
            return True
        if around.kind == "case_statement" and inner.role == "value":
            return True
        if around.kind == "variable_assignment":
            return True
        if around.kind in {"command_substitution", "array"}:
            return False
        inner = around
    return False
