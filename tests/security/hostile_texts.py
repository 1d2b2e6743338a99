"""Texts that cost a regular expression most: each repetition of it, repeated, and an end that does not match."""

from __future__ import annotations

import re
import re._constants as codes
import re._parser as parser
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Node: TypeAlias = tuple[object, object]
_SIGNS = [*map(chr, range(32, 127)), "\n", "\t", "é", "漢"]
_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
_REPETITIONS = {codes.MAX_REPEAT, codes.MIN_REPEAT}
_MANY = 20
_DRAWS = (0, 1, 2, 7, 23)


def against(pattern: re.Pattern[str] | re.Pattern[bytes], length: int) -> Iterator[str]:
    """Texts of about `length` characters for a pattern, each once: what leads to a repetition, it, and an end."""
    raw = pattern.pattern
    tree = parser.parse(
        raw if isinstance(raw, str) else raw.decode("latin-1"), pattern.flags & ~re.UNICODE
    )
    drawn = {
        start + pump * (length // len(pump)) + end
        for before, body in _repetitions(tree, "")
        for pump in {_text(body, draw) for draw in _DRAWS}
        | {_text(body, 0) + _text(body, 1), " ", _text(tree, 0)}
        for start in (before, "")
        for end in ("", "\0", "\n!")
        if pump
    }
    yield from sorted(drawn)


def _repetitions(nodes: Sequence[Node], before: str) -> Iterator[tuple[str, Sequence[Node]]]:
    """The body of each long repetition, with a text that leads to it."""
    for at, (code, value) in enumerate(nodes):
        led = before + _text(nodes[:at], 0)
        if code in _REPETITIONS and value[1] >= _MANY:
            yield led, value[2]
        for below in _below(code, value):
            yield from _repetitions(below, led)


def _below(code: object, value: object) -> Sequence[Sequence[Node]]:
    if code is codes.BRANCH:
        return value[1]
    if code in _REPETITIONS or code in {codes.SUBPATTERN, codes.ASSERT, codes.ASSERT_NOT}:
        return [value[-1]]
    return [value] if code is codes.ATOMIC_GROUP else []


def _text(nodes: Sequence[Node], draw: int) -> str:
    """A text that the nodes match; `draw` chooses among their alternatives."""
    return "".join(_of_node(code, value, draw) for code, value in nodes)


def _of_node(code: object, value: object, draw: int) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code in {codes.ANY, codes.NOT_LITERAL}:
        return "b" if value == ord("a") else "a"
    if code is codes.IN:
        signs = _members(value)
        return signs[draw % len(signs)] if signs else ""
    if code is codes.BRANCH:
        return _text(value[1][draw % len(value[1])], draw)
    if code in _REPETITIONS:
        return _text(value[2], draw) * max(value[0], 1)
    return _text(value[-1], draw) if code is codes.SUBPATTERN else ""


def _members(items: Sequence[Node]) -> list[str]:
    negated = items[0][0] is codes.NEGATE
    inside = [sign for sign in _SIGNS if any(_holds(code, value, sign) for code, value in items)]
    others = [
        chr(value if code is codes.LITERAL else value[0])
        for code, value in items[1:]
        if code is codes.RANGE
    ]
    return [sign for sign in _SIGNS if sign not in inside] if negated else inside or others


def _holds(code: object, value: object, sign: str) -> bool:
    if code is codes.LITERAL:
        return ord(sign) == value
    if code is codes.RANGE:
        return value[0] <= ord(sign) <= value[1]
    return code is codes.CATEGORY and re.fullmatch(_CATEGORIES[value], sign) is not None
