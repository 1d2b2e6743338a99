"""Words of others within a message: `quote()` marks them, so that no word of theirs is taken for one of the kit.

A report is looked up by its finished sentences (`phrases`). What is marked is left alone there. The records of a
finding and of a result take the marks out, and keep what stood between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_BEGIN, _END = "\ufdd0", "\ufdd1"
"""Noncharacters: Unicode has them for the use within a program, and no text is meant to have them."""
_MARKS = {ord(_BEGIN): None, ord(_END): None}
_MARKED = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}?")
_SEVERAL_WORDS = re.compile(r"\S\s+\S")
_HIDDEN = range(0xF0000, 0xFFFFE)
"""Characters for private use: they stand for what is quoted while the words around it are looked up."""


def quote(text: str) -> str:
    """The text, marked; nothing for an empty one."""
    return f"{_BEGIN}{unmarked(text)}{_END}" if text else ""


def unmarked(text: str) -> str:
    """The text without marks."""
    return text.translate(_MARKS)


def quotes_in(*texts: str) -> frozenset[str]:
    """What is marked in texts, line by line."""
    return frozenset(
        line.strip() for text in texts for found in _MARKED.findall(text) for line in found.split("\n")
    )


def any_of(quotes: Iterable[str]) -> re.Pattern[str]:
    """Finds each of them that has several words: a single one may be a word of the kit elsewhere."""
    known = sorted(filter(_SEVERAL_WORDS.search, quotes), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)" if known else r"(?!)")


class Hidden:
    """A text with a character in place of each quote.

    Attributes:
        text: with the characters.
    """

    def __init__(self, text: str, quotes: re.Pattern[str]) -> None:
        """What is marked is hidden, and what the pattern finds."""
        self._quotes: dict[str, str] = {}
        self._free = (chr(number) for number in _HIDDEN if chr(number) not in text)
        self.text = quotes.sub(self._hide, _MARKED.sub(self._hide, text))

    def _hide(self, found: re.Match[str]) -> str:
        character = next(self._free)
        self._quotes[character] = found[found.lastindex or 0]
        return character

    def shown(self, text: str) -> str:
        """The text with the quotes again; its words may be other ones."""
        return "".join(self._quotes.get(character, character) for character in text)
