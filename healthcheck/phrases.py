"""Finished sentences in another language: "port 8080 (--port 8080)" is known by its message, `port {} ({})`.

A finding reaches its reader with the values in it, often by way of report.json and from another machine. So a
sentence is recognised by the message of the catalogue that it was made from. Its values are looked up in turn, as
some of them are sentences of the kit; what is quoted (`quoting`) is not.
"""

from __future__ import annotations

import copy
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from string import Formatter

from healthcheck.quoting import Hidden, any_of, unmarked

PLURAL = "s"
"""The name of the place of an English ending or verb ("s", "is"), which a translation leaves out."""
MOST_CHARACTERS = 3000
MOST_PARTS = 60
"""A longer text, and one of more parts, is left as it is."""
_TELLING_LETTERS = 10
_BEGINS_LETTERS = 8
_DEEPEST = 5
_SEPARATORS = {"\n": "\n", ". ": "。", "; ": "；", ": ": "：", ", ": "，", " · ": " · ", "  ": "  "}
_COUNTED = re.compile(r"(\d+) (.+)")
_PROSE = re.compile(r"[A-Za-z]{2}")
_WORD = re.compile(r"(?<![\w/.$-])[a-z]{2,}(?![\w/.=-])")
_SENTENCE_ENDS = re.compile(r"\. [A-Z]")
_NAME = re.compile(r"[\w./-]+")
_MARKS = " \n·"
_SIGNS = " ;,:；，：、"


@dataclass(frozen=True)
class Phrase:
    """A message with places for values.

    Attributes:
        message: English; `{}` is the place of a value, `{s}` that of an ending, `{{` and `}}` are braces.
        said: its translation, the values in the same order or numbered: `{1}（{0}）`.
        pieces: the text before, between and after the places.
        names: the names of the places, "" for a value.
    """

    message: str
    said: str
    pieces: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, message: str, said: str) -> Phrase:
        """The phrase of a message of the catalogue."""
        pieces, names = [""], []
        for literal, name, _, _ in Formatter().parse(message):
            pieces[-1] += literal
            if name is not None:
                names.append(name)
                pieces.append("")
        return cls(message, said, tuple(pieces), tuple(names))

    @cached_property
    def rarest(self) -> str:
        """The longest piece: a text without it is not made from this message."""
        return max(self.pieces, key=len)

    @property
    def weight(self) -> int:
        """The characters that the message itself has."""
        return sum(map(len, self.pieces))

    @cached_property
    def is_telling(self) -> bool:
        """Whether the message has letters enough to be known by; "{} in {}" fits many another sentence."""
        begins, whole = (sum(map(str.isalpha, text)) for text in (self.pieces[0], "".join(self.pieces)))
        return begins >= _BEGINS_LETTERS or whole >= _TELLING_LETTERS

    @property
    def is_open(self) -> bool:
        """Whether it ends with a value that may run into the next message of a list; a list itself does not."""
        return not self.pieces[-1] and not any("; " in piece for piece in self.pieces)

    def values(self, text: str) -> list[str] | None:
        """The values in a text, each as short as it can be; None for a text of another message."""
        if len(self.pieces) == 1:
            return [] if text == self.pieces[0] else None
        first, *inner, last = self.pieces
        if not text.startswith(first) or not text.endswith(last):
            return None
        at, found = len(first), []
        for piece in inner:
            begin = text.find(piece, at)
            if begin < 0:
                return None
            found.append(text[at:begin])
            at = begin + len(piece)
        end = len(text) - len(last)
        if end < at:
            return None
        found.append(text[at:end])
        if last == "." and _SENTENCE_ENDS.search(found[-1]):
            return None
        return None if any(map(_closes_first, found)) else found


def _closes_first(value: str) -> bool:
    """Whether a value closes a bracket that it does not open, and so is part of two parts of a sentence."""
    depth = 0
    for sign in value:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return True
    return False


class Phrases:
    """The messages of a catalogue, to look finished sentences up in."""

    def __init__(self, tag: str, catalogue: Mapping[str, str], plain: Mapping[str, str]) -> None:
        """From English messages to their translations.

        `tag`: the language as HTML names it; `plain`: messages without places, in which a brace is a brace.
        """
        self.tag = tag
        self._catalogue = catalogue
        phrases = [Phrase.of(*pair) for pair in (*catalogue.items(), *_parted(catalogue))]
        self._whole = {**plain, **{each.pieces[0]: each.said.format() for each in phrases if not each.names}}
        self._open = sorted((phrase for phrase in phrases if phrase.names), key=lambda phrase: -phrase.weight)
        own = {each.pieces[0].partition(": ") for each in phrases}
        self._labels = self._whole.keys() - {label for label, colon, _ in own if colon}
        self._quotes = frozenset[str]()
        self._any_quote = any_of(())

    def beside(self, quotes: Iterable[str]) -> Phrases:
        """The same phrases for texts in which these are quoted."""
        together = self._quotes.union(quotes)
        if not self._catalogue or together == self._quotes:
            return self
        other = copy.copy(self)
        other._quotes = together  # noqa: SLF001 - its own class
        other._any_quote = any_of(other._quotes)  # noqa: SLF001
        return other

    def say(self, text: str) -> str:
        """The text in the other language, as far as the catalogue knows it; what is quoted, as it is."""
        if not self._catalogue or len(text) > MOST_CHARACTERS:
            return unmarked(text)
        hidden = Hidden(text, self._any_quote)
        return hidden.shown(self._say(hidden.text, _DEEPEST))

    def labelled(self, label: str, text: str) -> str:
        """A label of the kit before a text that is in the language already."""
        return _joined([self.say(label), text], ": ", _SEPARATORS[": "])

    def message(self, message: str) -> str:
        """The translation of a message that has its places still open."""
        return self._catalogue.get(message, message)

    def _say(self, text: str, deep: int) -> str:
        if not deep or not _PROSE.search(text) or text in self._quotes:
            return text
        inner = text.strip(_MARKS)
        before, _, after = text.partition(inner)
        said = self._message(inner, deep)
        if said is None and inner != text:
            whole = self._message(text, deep)
            if whole is not None:
                return whole
        said = said if said is not None else self._parts(inner, deep)
        return ("" if before == " " and said.startswith("（") else before) + said + after

    def _message(self, text: str, deep: int) -> str | None:
        """The translation of a text that is one message; None if it is none."""
        if text in self._whole:
            return self._whole[text]
        label, colon, labelled = text.partition(": ")
        if colon and label in self._labels:
            return _joined([self._whole[label], self._say(labelled, deep - 1)], ": ", _SEPARATORS[": "])
        for phrase in self._open:
            values = phrase.values(text) if phrase.rarest in text else None
            if values is None or (phrase.is_open and self._goes_on(values[-1], deep)):
                continue
            if phrase.is_telling or self._are_plain(values):
                named = zip(phrase.names, values, strict=True)
                return phrase.said.format(*(self._say(value, deep - 1) for name, value in named if name != PLURAL))
        counted = _COUNTED.fullmatch(text)
        return f"{counted[1]} {self._whole[counted[2]]}" if counted and counted[2] in self._whole else None

    def _goes_on(self, value: str, deep: int) -> bool:
        """Whether the value at the end of a message has another message after it: the text is a list of both."""
        _, semicolon, rest = value.partition("; ")
        return bool(semicolon) and deep > 1 and self._message(rest, deep - 1) is not None

    def _are_plain(self, values: list[str]) -> bool:
        """Whether values may stand in a short phrase: they are names, numbers or messages, no other sentences."""
        return all(not _WORD.search(value) or self._is_known(value) for value in values)

    def _is_known(self, text: str) -> bool:
        return text in self._whole or any(
            phrase.is_telling and phrase.rarest in text and phrase.values(text) is not None for phrase in self._open
        )

    def _parts(self, text: str, deep: int) -> str:
        """A list of messages, each translated."""
        for separator, other in _SEPARATORS.items():
            parts = _split(text, separator)
            if 1 < len(parts) <= MOST_PARTS:
                said = [self._say(part, deep - 1) for part in parts]
                if said != parts and not (separator == ", " and _are_names(parts, said)):
                    return _joined(said, separator, other)
        return text


def _parted(catalogue: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The messages that begin or end with a separator ("; the dry run was {}"), without it."""
    for message, said in catalogue.items():
        alone = message.strip(_SIGNS)
        if alone and alone != message and alone not in catalogue:
            yield alone, said.strip(_SIGNS)


def _split(text: str, separator: str) -> list[str]:
    """The parts of a list; one in brackets stays a part of what it stands in."""
    parts: list[str] = []
    depth = 0
    for part in text.split(separator):
        if depth > 0:
            parts[-1] += separator + part
        else:
            parts.append(part)
        depth = max(0, depth + part.count("(") - part.count(")"))
    return parts if depth == 0 else text.split(separator)


def _are_names(parts: list[str], said: list[str]) -> bool:
    """Whether a list is one of names: all but its beginning are single words, some without a translation."""
    return all(map(_NAME.fullmatch, parts[1:])) and any(map(str.__eq__, parts[1:], said[1:]))


ENGLISH = Phrases("en", {}, {})
"""Says everything as it is."""


def _joined(parts: list[str], separator: str, other: str) -> str:
    """The parts with the other language's separator beside its characters. A place keeps its colon."""
    text = parts[0]
    for part in parts[1:]:
        beside = text[-1:] if separator == ": " else text[-1:] + part[:1]
        text += (other if any(map(is_wide, beside)) else separator) + part
    return text


def is_wide(character: str) -> bool:
    """Whether a character takes two columns, as Chinese ones and their punctuation do."""
    return unicodedata.east_asian_width(character) in "WF"
