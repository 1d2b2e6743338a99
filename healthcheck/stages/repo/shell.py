"""Parses a shell text into a syntax tree, to look up commands, words and variables; nothing is executed.

tree-sitter-bash parses bash and POSIX sh, and recovers from errors: an ERROR node has the parts that it recognised.
Their commands and variables count like others; bare words in an ERROR node are ignored. The parser skips a
backslash before a blank, and a lone "-" before a here-document. The plan stage, which runs a script, judges what
it does.

Parsing is bounded: text beyond MAX_CHARACTERS, MAX_PIPES or PARSE_S is ignored, and a node at MAX_DEPTH has no
children.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 60
MAX_PIPES = 1000
"""Parsing a pipeline takes time that is quadratic in its length."""
PARSE_S = 3.0
"""Processor time. Long scripts take this many milliseconds."""
_CHUNK = 512
_SHEBANG = re.compile(r"#![ \t]*(\S+)(.*)")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTES = "\"'"
_COMMANDS = (
    "command",
    "declaration_command",
    "unset_command",
    "test_command",
    "variable_assignment",
)
_SUBSTITUTIONS = ("command_substitution", "process_substitution")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a command, as written from `start` to `end` in the script."""

    start: int
    end: int
    text: str

    @property
    def value(self) -> str:
        """The word without the quotes around it."""
        return self.text.strip(_QUOTES)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of the tree: `kind` is its type in the grammar of tree-sitter-bash, `role` its field in the parent."""

    kind: str
    role: str
    start: int
    end: int
    source: str = field(repr=False)
    parent: Node | None = field(repr=False)
    children: list[Node] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        return self.source[self.start : self.end]

    @property
    def name(self) -> str:
        """The program of a command; the variable of an expansion, an assignment or a loop; a function's name."""
        named = (
            each.text
            for each in self.children
            if each.role == "name" or each.kind.endswith("variable_name")
        )
        return next(named, "")

    @property
    def word(self) -> Word:
        return Word(start=self.start, end=self.end, text=self.text)

    def around(self) -> Iterator[Node]:
        """The ancestors of this node, from its parent outwards."""
        at = self.parent
        while at is not None:
            yield at
            at = at.parent

    def inside(self, *kinds: str) -> bool:
        return any(node.kind in kinds for node in self.around())

    def below(self, *kinds: str) -> Iterator[Node]:
        """The nodes of these kinds among this node and its descendants, in the order of the text."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.kind in kinds:
                yield node
            waiting += reversed(node.children)

    def has(self, *kinds: str) -> bool:
        """Whether a child is of one of these kinds; each operator and keyword is a kind of its own."""
        return any(child.kind in kinds for child in self.children)

    def part(self, role: str) -> Node | None:
        return next((child for child in self.children if child.role == role), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A simple command with its assignments, without its redirections; "[", "[[" and "export" are commands, too."""

    node: Node
    words: tuple[Word, ...]

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def name(self) -> str:
        """The program, or the first assignment of a command that only has assignments."""
        return self.node.name if self.node.kind == "command" else self.words[0].text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Script:
    """A shell text and its nodes in the order of the text."""

    text: str
    nodes: tuple[Node, ...]
    line_ends: tuple[int, ...]

    def line(self, offset: int) -> int:
        """The number, from 1, of the line that contains the offset."""
        return bisect.bisect_left(self.line_ends, offset) + 1

    def of(self, *kinds: str) -> Iterator[Node]:
        return (node for node in self.nodes if node.kind in kinds)

    def commands(self) -> tuple[Command, ...]:
        """The commands outside command substitutions."""
        return tuple(
            command for command in self.all_commands() if not command.node.inside(*_SUBSTITUTIONS)
        )

    def all_commands(self) -> Iterator[Command]:
        for node in self.of(*_COMMANDS):
            if (
                node.kind != "variable_assignment"
                or node.parent is None
                or node.parent.kind not in _COMMANDS
            ):
                words = tuple(
                    sorted(
                        (word for word in _words(node) if word.text), key=lambda word: word.start
                    )
                )
                if words:
                    yield Command(node=node, words=words)

    def runs(self, *names: str) -> Iterator[Command]:
        """The commands with these names, including those in command substitutions."""
        return (command for command in self.all_commands() if command.name in names)

    def without(self, *kinds: str) -> str:
        """The text with the nodes of these kinds, such as comments, replaced by blanks."""
        parts, at = [], 0
        for node in self.of(*kinds):
            if node.start >= at:
                parts += [self.text[at : node.start], re.sub(r"[^\n]", " ", node.text)]
                at = node.end
        return "".join((*parts, self.text[at:]))


@functools.lru_cache(maxsize=8)  # one script is read dozens of times
def read(text: str) -> Script:
    """Parse a shell text; never raises."""
    line_ends = tuple(at.start() for at in re.finditer("\n", text))
    return Script(text=text, nodes=tuple(_nodes(text)), line_ends=line_ends)


def shebang(text: str) -> tuple[str, tuple[str, ...]]:
    """The interpreter's base name and its options ("bash", ("-e",)); ("", ()) if the first line names none."""
    match = _SHEBANG.match(text)
    words = [match[1].rpartition("/")[2], *match[2].split()] if match else [""]
    if words[0] == "env":
        words = list(
            itertools.dropwhile(lambda word: word[0] == "-" or "=" in word, words[1:])
        ) or [""]
    return words[0].rpartition("/")[2], tuple(words[1:])


def _nodes(text: str) -> Iterator[Node]:
    import tree_sitter  # noqa: PLC0415 - commands that parse no script start faster without it
    import tree_sitter_bash  # noqa: PLC0415

    until = time.thread_time() + PARSE_S
    # One byte per character keeps offsets equal. The shell takes non-ASCII characters and \r for letters.
    data = re.sub(r"[^\x01-\x0c\x0e-\x7f]", "x", _bounded(text)).encode("ascii")
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    cursor = parser.parse(
        lambda at, _: data[at : at + _CHUNK] if time.thread_time() < until else b""
    ).walk()
    path: list[Node] = []
    while (found := cursor.node) is not None:
        around = path[-1] if path else None
        role = cursor.field_name or ""
        node = Node(found.type, role, found.start_byte, found.end_byte, source=text, parent=around)
        yield node
        if around:
            around.children.append(node)
        if len(path) < MAX_DEPTH and cursor.goto_first_child():
            path.append(node)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            path.pop()


def _words(command: Node) -> Iterator[Word]:
    """The words of a command; the grammar attaches those after a redirection to it, as further files."""
    if command.kind == "variable_assignment":
        yield command.word
    elif command.kind == "test_command":
        yield command.children[0].word
    else:
        yield from (
            child.word for child in command.children if not child.kind.endswith("_redirect")
        )
    around = command.parent
    redirects = (
        command.children
        if around is None or command.role != "body"
        else command.children + around.children
    )
    for redirect in redirects:
        if redirect.kind == "file_redirect":
            files = [child.word for child in redirect.children if child.role == "destination"]
            yield from files[1:]
        elif redirect.kind == "heredoc_redirect":
            yield from (child.word for child in redirect.children if child.role == "argument")


def _bounded(text: str) -> str:
    ends = [at.start() for at in re.finditer(r"\|", text)][MAX_PIPES:]
    return text[: min(MAX_CHARACTERS, *ends[:1], len(text))]
