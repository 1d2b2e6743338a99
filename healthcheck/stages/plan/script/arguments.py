"""Finds the arguments of a recorded command in the text of deploy.sh, and makes exact edits of them.

A dry run records arguments as the program got them. An edit needs the words of the script that they come from:
those of a command, of an array, or of a text between quotes that a variable holds. If more than one word can be
meant, there is no edit.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from healthcheck import contract
from healthcheck.core.edits import replaced
from healthcheck.core.records import Edit
from healthcheck.stages.plan.records import ServerCommand
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Node, Script, Word

Edits = tuple[Edit, ...]
MOST_PROGRAM_WORDS = 3
_PRINTS = {"echo", "printf"}
_CONTINUED = re.compile(r"(?:[ \t]|\\\n)*")
_BETWEEN_ELEMENTS = re.compile(r"(?:\s|\\\n)*")
_TOKEN = re.compile(r"[^\s\"'`$\\;&|<>()]+")
_DYNAMIC = re.compile(r"[$`]")
_VARIABLE = re.compile(
    r"""["']?\$(?:(?P<bare>\w+)|\{(?P<braced>\w+)(?::?-(?P<default>[^{}"'$`]*))?\})["']?"""
)
_MANY_WORDS = re.compile(r'"?\$(?:@|\*|\{\w+\[[@*]\]\})"?')
_NEVER_EMPTY = {
    "if_statement",
    "elif_clause",
    "else_clause",
    "case_item",
    "do_group",
    "compound_statement",
    "subshell",
}
_STATEMENTS = ("command", "statement", "assignment", "assignments", "pipeline", "list", "subshell")
_ONE_WORD = re.compile(r"""[\w.:/@+-]+|"[^"`@*]*"|'[^']*'|"\$\([^`@*]*\)\"""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Words that become arguments one after the other.

    Attributes:
        command: they are the words of a command, whose lines end in backslashes; otherwise an array or a text.
        text: they are inside a text, in which quotes would be ordinary characters.
    """

    words: tuple[Word, ...]
    command: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A word of the script: the `at`-th of its row."""

    row: Row
    at: int

    @property
    def word(self) -> Word:
        return self.row.words[self.at]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a server that deploy.sh starts itself, and the script.

    Attributes:
        line: the line of the command, 0 if it is unknown.
        program: the words that start the server, such as vllm and serve.
        file: the script; "" for deploy.sh.
    """

    text: str
    argv: tuple[str, ...]
    line: int
    program: frozenset[str] = frozenset()
    file: str = ""

    @classmethod
    def of(cls, text: str, server: ServerCommand | None, file: str = "") -> Arguments:
        """The arguments of a recorded server; without any if another file starts it.

        `file` is a script that deploy.sh runs or sources, whose text this is.
        """
        place, _, line = (server.where if server else "").partition(":")
        known = server is not None and place in {"", contract.ENTRY_POINT} and "\r" not in text
        argv = server.argv if known and server else ()
        words = server.command.split()[:MOST_PROGRAM_WORDS] if server else []
        program = frozenset(words) - {*argv, "-m"}
        number = int(line) if line.isdigit() and not file else 0
        return cls(text=text, argv=argv, line=number, program=program, file=file)

    def option(self, name: str) -> int | None:
        """The index of the only argument that gives an option, as a word of its own or before a `=`."""
        wanted = f"--{name.lstrip('-')}".replace("_", "-")
        given = [at for at, word in enumerate(self.argv) if spelled(word) == wanted]
        return given[0] if len(given) == 1 else None

    def values_after(self, at: int) -> int:
        """How many of the arguments after an option may be its values."""
        if "=" in self.argv[at]:
            return 0
        after = self.argv[at + 1 :]
        return next((count for count, word in enumerate(after) if word.startswith("-")), len(after))

    def renamed(self, at: int, new: str) -> Edits:
        """Replace the name of the option at an index, and keep its value."""
        found = self.find(at)
        if found is None:
            return ()
        end = found.word.start + len(found.word.text.partition("=")[0])
        return (self._replaced(found.word.start, end, new),)

    def rewritten(self, at: int, new: str, values: int = 0) -> Edits:
        """Replace the argument at an index, and so many after it, by words of a shell."""
        found = self.find(at)
        if found is None or (found.row.text and set(new) & set("'\"$\\")):
            return ()
        words = found.row.words[found.at : found.at + values + 1]
        if len(words) <= values or not all(map(_is_one_argument, words[1:])):
            return ()
        return (self._replaced(found.word.start, words[-1].end, new),)

    def revalued(self, at: int, old: str, new: str) -> Edits:
        """Replace the value of the option at an index.

        The value is written there, or is the default of a variable, or of a variable that is assigned once.
        """
        found = self.find(at)
        value = self._value(found) if found else None
        if found is None or value is None or (found.row.text and shlex.quote(new) != new):
            return ()
        if literal(value.text) == old:
            return (
                self._replaced(
                    found.word.start, value.end, _with_value(self.text, found.word, value, new)
                ),
            )
        return self._of_variable(value, old, new)

    def renamed_value(self, at: int, old: str, new: str, before: str = "") -> Edits:
        """Replace what is in front of the first = in the value of the option at an index.

        `new` and `before`, which goes in front of the option, are words of a shell.
        """
        found = self.find(at)
        value = self._value(found) if found else None
        if found is None or value is None or found.row.text:
            return ()
        if value.text.startswith(f"{old}="):
            renamed = f"{new}{value.text.removeprefix(old)}"
        elif value.text.startswith(f'"{old}='):
            renamed = f'{new}"{value.text.removeprefix(chr(34) + old)}'
        else:
            return ()
        option = self.text[found.word.start : value.start]
        return (self._replaced(found.word.start, value.end, f"{before}{option}{renamed}"),)

    def preceded(self, at: int, words: str) -> Edits:
        """Write words in front of the argument at an index."""
        found = self.find(at)
        if found is None:
            return ()
        start, end = found.word.start, found.word.end
        return (self._replaced(start, end, f"{words}{found.word.text}"),)

    def separated(self, at: int) -> Edits:
        """Write the option at an index and its value as two words in place of `--option=value`."""
        found = self.find(at)
        if found is None:
            return ()
        name, equals, value = found.word.text.partition("=")
        if not equals or not value or not name.startswith("--"):
            return ()
        return (self._replaced(found.word.start, found.word.end, f"{name} {value}"),)

    def variable(self, at: int) -> str:
        """The variable that is the whole value of the option at an index; "" for another value."""
        found = self.find(at)
        value = self._value(found) if found else None
        used = _VARIABLE.fullmatch(value.text) if value else None
        return (used["bare"] or used["braced"]) if used else ""

    def removed(self, at: int, values: int, *, many: bool = False) -> Edits:
        """Remove the option at an index with so many values; with `many`, with all words up to the next option."""
        found = self.find(at)
        if found is None:
            return ()
        after = _words_before_an_option(found.row.words[found.at + 1 :])
        count = after if many and after >= values else values
        words = found.row.words[found.at : found.at + count + 1]
        if len(words) <= count or (count != after and not all(map(_is_one_argument, words[1:]))):
            return ()
        gap = _CONTINUED if found.row.command else _BETWEEN_ELEMENTS
        between = (self.text[one.end : other.start] for one, other in pairwise(words))
        return (
            (self._without(found, words),) if all(gap.fullmatch(part) for part in between) else ()
        )

    def appended(self, words: str) -> Edits:
        """Append words to the command, behind the last argument that is written there."""
        found = self.find(len(self.argv) - 1)
        if found is None or not found.row.command or found.at != len(found.row.words) - 1:
            return ()
        return (self._replaced(found.word.start, found.word.end, f"{found.word.text} {words}"),)

    def source_value(self, at: int) -> tuple[int, int] | None:
        """Where the value of an option is written, if it begins there with a brace and ends in the same line."""
        found = self.find(at)
        if found is None or found.row.text:
            return None
        name, equals, _ = found.word.text.partition("=")
        start = found.word.start + len(name) + 1 if equals else found.word.end
        start += len(self.text[start:]) - len(self.text[start:].lstrip(" \t"))
        line = self.text[start:].partition("\n")[0]
        quote = line[0] if line[:1] in {"'", '"'} else ""
        length = _length_of_braces(line[len(quote) :])
        if not length or (quote and line[length + 1 : length + 2] != quote):
            return None
        return start, start + length + 2 * len(quote)

    def replaced_source(self, span: tuple[int, int], new: str) -> Edits:
        return (self._replaced(*span, new),)

    def find(self, at: int) -> Found | None:
        """The word of the script that became the argument at an index; None if several may be meant."""
        if not 0 <= at < len(self.argv):
            return None
        wanted = _name(self.argv[at])
        before = sum(_name(word) == wanted for word in self.argv[:at])
        alike = before + sum(_name(word) == wanted for word in self.argv[at:])
        possible = [row for row in rows(self.text) if self._may_be_of_the_server(row)]
        found = [Found(row=row, at=number) for row in possible for number in _places(row, wanted)]
        if len(found) != alike:
            found = [each for each in found if each.row.command and self._is_in_line(each.row)]
        return found[before] if len(found) == alike else None

    def _may_be_of_the_server(self, row: Row) -> bool:
        """Whether the words may be arguments of the server: those that are certain are, and a command starts it."""
        values = [literal(word.text) for word in row.words]
        starts = [at for at, value in enumerate(values) if value in self.program]
        if row.command and not starts:
            return False
        after = values[max(starts) + 1 :] if starts else values
        return all(value is None or "{" in value or value in self.argv for value in after)

    def _is_in_line(self, row: Row) -> bool:
        line = shell.read(self.text).line
        return line(row.words[0].start) <= self.line <= line(row.words[-1].end)

    def _value(self, found: Found) -> Word | None:
        name, equals, value = found.word.text.partition("=")
        if equals:
            start = found.word.start + len(name) + 1
            return Word(start=start, end=found.word.end, text=value)
        return found.row.words[found.at + 1] if found.at + 1 < len(found.row.words) else None

    def _of_variable(self, value: Word, old: str, new: str) -> Edits:
        used = _VARIABLE.fullmatch(value.text)
        if used is None or shlex.quote(new) != new:
            return ()
        if used["default"] == old:
            return (
                self._replaced(
                    value.start + used.start("default"), value.start + used.end("default"), new
                ),
            )
        name = used["bare"] or used["braced"]
        return reassigned(self.file or contract.ENTRY_POINT, self.text, name, old, new)

    def _without(self, found: Found, words: Sequence[Word]) -> Edit:
        start, end = words[0].start, words[-1].end
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        last = len(self.text) if last < 0 else last
        before, after = self.text[first:start], self.text[end:last]
        alone = not before.strip()
        if alone and (after.strip() == "\\" or (not after.strip() and not found.row.command)):
            return self._replaced(first, min(last + 1, len(self.text)), "")
        if alone and found.at and words[-1] == found.row.words[-1]:
            return self._replaced(found.row.words[found.at - 1].end, end, "")
        if before[-1:].isspace() and not alone:
            return self._replaced(start - len(before) + len(before.rstrip()), end, "")
        return self._replaced(start, end + len(after) - len(after.lstrip(" \t")), "")

    def _replaced(self, start: int, end: int, new: str) -> Edit:
        return replaced(self.file or contract.ENTRY_POINT, self.text, start, end, new)


def spelled(word: str) -> str:
    """The name of a long option with hyphens; "" for another word."""
    return word.partition("=")[0].replace("_", "-") if word.startswith("--") else ""


def literal(text: str) -> str | None:
    """The value of a word of a shell; None if it depends on a variable, a command or a pattern."""
    plain = (
        text[1:-1]
        if len(text) > 1 and text[0] == text[-1] == "'" and "'" not in text[1:-1]
        else None
    )
    if plain is not None:
        return plain
    if _DYNAMIC.search(text):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return words[0] if len(words) == 1 else None


@lru_cache(maxsize=4)
def rows(text: str) -> tuple[Row, ...]:
    """The words that may become arguments, in the order of the text."""
    script = shell.read(text)
    return (*_commands(script), *_arrays(script), *_texts(script))


def _commands(script: Script) -> Iterator[Row]:
    for command in script.commands():
        if command.node.kind == "command" and command.name not in _PRINTS:
            yield Row(words=command.words, command=True)


def _arrays(script: Script) -> Iterator[Row]:
    for node in script.of("array"):
        elements = [
            child.word for child in node.children if child.kind not in {"(", ")", "comment"}
        ]
        if elements:
            yield Row(words=tuple(elements))


def _texts(script: Script) -> Iterator[Row]:
    for node in script.of("variable_assignment"):
        value: Node | None = node.part("value")
        if value is None or value.kind not in {"string", "raw_string"} or len(value.text) < 2:
            continue
        inner, start = value.text[1:-1], value.start + 1
        if _DYNAMIC.search(inner) and value.kind == "string":
            inner = re.sub(r"\$\{?\w+\}?", lambda found: "$" * len(found[0]), inner)
        found = (
            part
            for part in re.finditer(r"\S+", inner)
            if _TOKEN.fullmatch(part[0]) or "$" in part[0]
        )
        words = tuple(
            Word(
                start=start + part.start(),
                end=start + part.end(),
                text=value.text[1:-1][part.start() : part.end()],
            )
            for part in found
        )
        if words:
            yield Row(words=words, text=True)


def _places(row: Row, wanted: str) -> Iterator[int]:
    for at, word in enumerate(row.words):
        given = literal(word.text)
        if _name(word.text if given is None else given) == wanted:
            yield at


def _name(word: str) -> str:
    return word.partition("=")[0] if word.startswith("-") else word


def _with_value(text: str, option: Word, value: Word, new: str) -> str:
    """The option with another value, as the script writes the two."""
    quote = value.text[0] if value.text[:1] in {"'", '"'} and new[:1] not in {"'", '"'} else ""
    return text[option.start : value.start] + quote + new + quote


def _words_before_an_option(words: Sequence[Word]) -> int:
    """How many words there are before the next option, or before one that may be several arguments."""
    ends = (
        at
        for at, word in enumerate(words)
        if word.text.startswith("-") or _MANY_WORDS.fullmatch(word.text)
    )
    return next(ends, len(words))


def _is_one_argument(word: Word) -> bool:
    """Whether a word is one argument, whatever its variables hold."""
    return literal(word.text) is not None or _ONE_WORD.fullmatch(word.text) is not None


def _length_of_braces(line: str) -> int:
    """The length of the object at the beginning of a line, in which strings may have braces; 0 without its end."""
    depth, in_string = 0, False
    for at, character in enumerate(line):
        if character == '"':
            in_string = not in_string
        elif not in_string and character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return at + 1
        if at == 0 and character != "{":
            return 0
    return 0


def without_assignment(file: str, text: str, name: str) -> Edits:
    """Remove the only assignment of a variable in a file: its line, or the words before a command."""
    given = _assignments(text, name)
    return _without_assignment(file, text, given[0]) if len(given) == 1 else ()


def without_assignments(file: str, text: str, name: str) -> Edits:
    """Remove every assignment of a variable; no edits if one of them cannot be removed exactly."""
    made = [_without_assignment(file, text, node) for node in _assignments(text, name)]
    return tuple(edit for edits in made for edit in edits) if all(made) else ()


def is_assigned(text: str, name: str) -> bool:
    """Whether a script assigns the variable."""
    return bool(_assignments(text, name))


def reassigned(file: str, text: str, name: str, old: str, new: str) -> Edits:
    """Replace the value of the only assignment of a variable, or the default in it."""
    given = _assignments(text, name)
    assigned = given[0].part("value") if len(given) == 1 else None
    if assigned is None or "\r" in text:
        return ()
    if literal(assigned.text) == old:
        named = text[given[0].start : assigned.start]
        return (replaced(file, text, given[0].start, assigned.end, f"{named}{new}"),)
    inner = _VARIABLE.fullmatch(assigned.text)
    if inner and inner["default"] == old:
        start = assigned.start + inner.start("default")
        return (replaced(file, text, start, start + len(old), new),)
    return ()


def _assignments(text: str, name: str) -> list[Node]:
    return [node for node in shell.read(text).of("variable_assignment") if node.name == name]


def _without_assignment(file: str, text: str, node: Node) -> Edits:
    if "\r" in text:
        return ()
    statement = node.parent if node.parent and node.parent.kind == "declaration_command" else node
    first, last = text.rfind("\n", 0, statement.start) + 1, text.find("\n", statement.end)
    last = len(text) if last < 0 else last
    if text[first:last].strip() == statement.text.strip():
        if _is_alone(statement):
            return (replaced(file, text, statement.start, statement.end, ":"),)
        return (replaced(file, text, first, min(last + 1, len(text)), ""),)
    after = text[node.end : last]
    if (
        node.parent
        and node.parent.kind in {"command", "declaration_command"}
        and after.lstrip(" \t") not in {"", "\\"}
    ):
        end = node.end + len(after) - len(after.lstrip(" \t"))
        return (replaced(file, text, node.start, end, ""),)
    return ()


def _is_alone(statement: Node) -> bool:
    """Whether a branch, a loop or a function has no other statement: it must not become empty."""
    around = statement.parent
    if around is None or around.kind not in _NEVER_EMPTY:
        return False
    others = (
        each
        for each in around.children
        if each is not statement and each.role not in {"condition", "value"}
    )
    return not any(each.kind.endswith(_STATEMENTS) for each in others)
