r"""Finds variables with several arguments as one text, whose quotes the shell keeps and whose blanks it splits at.

ARGS="--port 8000 --compilation-config '{\"mode\": 3}'" is used as $ARGS: the program gets `'{"mode":` and `3}'`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.core.edits import inserted_below, replaced
from healthcheck.core.records import Edit
from healthcheck.stages.plan.script.own_folder import first_free_line
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.bashisms import IN_BASH
from healthcheck.stages.repo.shell import Node, Script

_ESCAPED = re.compile(r"\\([\"\\$`])|\\\n")
_DYNAMIC = re.compile(r"(?<!\\)[$`]")
_NEEDS_ARRAY = re.compile(r"[\s*?\[']")
"""Characters that do not reach a program unchanged through an unquoted variable, or not between single quotes."""
_BLANK = re.compile(r"\s+")
_OPTION = re.compile(r"(?:--?[\w.-]+=)?")
_MOST_CHARACTERS = 4096
_EXPANSIONS = ("simple_expansion", "expansion")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitText:
    """A variable with arguments, of which the program got other ones than were meant.

    Attributes:
        line: the line of its assignment; `used_at` is that of its first use.
        start, end: the arguments that came from it, as a slice of the command's.
        got: the first argument that is not what was meant.
        array: its assignment as an array.
        edits: make the variable an array, or remove the inner quotes.
    """

    name: str
    line: int
    used_at: int
    start: int
    end: int
    got: str
    array: str
    edits: tuple[Edit, ...]


def split_texts(text: str, argv: Sequence[str]) -> Iterator[SplitText]:
    """The variables of deploy.sh whose value was split into arguments of a command."""
    script = shell.read(text)
    given = list(script.of("variable_assignment"))
    for node in given:
        value = _plain_value(node)
        meant = intended_words(value) if value else None
        got = value.split()
        once = sum(each.name == node.name for each in given) == 1
        if meant is None or meant == got or not once or "\r" in text:
            continue
        start = _position(argv, got)
        uses = [each for each in script.of(*_EXPANSIONS) if each.name == node.name]
        if start is None or not uses:
            continue
        yield SplitText(
            name=node.name,
            line=script.line(node.start),
            used_at=script.line(next((each for each in uses if _is_bare(each)), uses[0]).start),
            start=start,
            end=start + len(got),
            got=_first_difference(got, meant),
            array=_array(node.name, meant),
            edits=_repaired(script, node, meant, uses),
        )


def intended_words(value: str) -> list[str] | None:
    """The arguments that a text means: quotes and braces keep blanks together; None if they are not closed."""
    words, at = list[str](), 0
    while at < len(value):
        if blank := _BLANK.match(value, at):
            at = blank.end()
            continue
        option = _OPTION.match(value, at)
        begin = option.end() if option else at
        end = _end_of_value(value, begin)
        if end is None or (end < len(value) and not value[end].isspace()):
            return None
        inner = value[begin:end]
        plain = inner[1:-1] if inner[:1] in {"'", '"'} else inner
        words.append(value[at:begin] + plain)
        at = end
    return words


def _end_of_value(value: str, begin: int) -> int | None:
    """The end of a value between quotes or braces, or before the next blank; None without one."""
    first = value[begin : begin + 1]
    if first in {"'", '"'}:
        end = value.find(first, begin + 1)
        return end + 1 if end > 0 else None
    if first in {"{", "["}:
        return _end_of_object(value, begin)
    blank = _BLANK.search(value, begin)
    return blank.start() if blank else len(value)


def _end_of_object(value: str, begin: int) -> int | None:
    depth, in_string = 0, False
    for at in range(begin, len(value)):
        character = value[at]
        if character == '"' and value[at - 1] != "\\":
            in_string = not in_string
        elif not in_string and character in "{[}]":
            depth += 1 if character in "{[" else -1
            if depth == 0:
                return at + 1
    return None


def _plain_value(node: Node) -> str:
    """The value of an assignment of one text without variables; "" for another one."""
    value = node.part("value")
    around = node.parent
    if value is None or len(value.text) > _MOST_CHARACTERS:
        return ""
    if around is not None and around.kind not in {"program", "variable_assignments"}:
        return ""
    inner = value.text[1:-1]
    if value.kind == "raw_string":
        return inner
    if value.kind != "string" or _DYNAMIC.search(inner):
        return ""
    return _ESCAPED.sub(lambda found: found[1] or "", inner)


def _position(argv: Sequence[str], words: Sequence[str]) -> int | None:
    """Where the words are in the arguments; None if they are not there, or more than once."""
    found = [
        at
        for at in range(len(argv) - len(words) + 1)
        if list(argv[at : at + len(words)]) == list(words)
    ]
    return found[0] if len(found) == 1 else None


def _first_difference(got: Sequence[str], meant: Sequence[str]) -> str:
    """The first argument that is another one than was meant."""
    alike = next(
        (at for at, (one, other) in enumerate(zip(got, meant, strict=False)) if one != other),
        min(len(got), len(meant)),
    )
    return got[alike] if alike < len(got) else ""


def _is_bare(node: Node) -> bool:
    return not node.inside("string", "variable_assignment", "heredoc_body")


def _written(use: Node) -> str:
    """The text of an expansion; between quotes, the parser adds the blanks before it."""
    return use.text.lstrip()


def _array(name: str, meant: Sequence[str]) -> str:
    return f"{name}=({' '.join(shlex.quote(word) for word in meant)})"


def _repaired(
    script: Script, node: Node, meant: Sequence[str], uses: Sequence[Node]
) -> tuple[Edit, ...]:
    """Make the variable an array, and each use one of all its elements; () if a use is not a plain `$NAME`.

    If no argument is empty or has a blank, the text without the inner quotes is enough.
    """
    text, file, name = script.text, contract.ENTRY_POINT, node.name
    if not any(not word or _NEEDS_ARRAY.search(word) for word in meant):
        plain_text = f"{name}='{' '.join(meant)}'"
        return (replaced(file, text, node.start, node.end, plain_text),)
    plain = {f"${name}", f"${{{name}}}"}
    if any(_written(use) not in plain or use.inside("variable_assignment") for use in uses):
        return ()
    edits = [replaced(file, text, node.start, node.end, _array(name, meant))]
    for use in uses:
        all_words = f'"${{{name}[@]}}"' if _is_bare(use) else f"${{{name}[*]}}"
        edits.append(replaced(file, text, use.end - len(_written(use)), use.end, all_words))
    if IN_BASH not in text:
        edits.append(inserted_below(file, first_free_line(text), IN_BASH))
    return tuple(edits)
