"""Messages: what the kit says, as a template and its values, until a renderer says them in its reader's language.

    msg("port {port} ({source})", plan.port, plan.source)

A message is a `str`, its English text. A value may be a message, which is said in the language as well, or an
exception, which stands for its text. Any other text in it is a quotation (a log line, a command, an answer, a name)
and reaches every reader as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from gettext import NullTranslations
from string import Formatter

Catalogue = NullTranslations
"""From the templates of messages to those of another language, with the same names of places in any order."""
_ENGLISH = NullTranslations()
_CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


class Message(str):
    """A template whose places have names, and their values in the order of the places; equal names, one value.

    Without values the template is the text, and a brace in it is a brace.
    """

    __slots__ = ("template", "values")
    template: str
    values: tuple[object, ...]

    def __new__(cls, template: str, *values: object) -> Message:  # noqa: PYI034 - Self is in typing since 3.11
        """Raises ValueError if there are not as many values as names."""
        values = tuple(str(value) if isinstance(value, BaseException) else value for value in values)
        self = super().__new__(cls, _filled(template, template, values, _ENGLISH))
        self.template = template
        self.values = values
        return self

    def said(self, catalogue: Catalogue) -> str:
        """The text in the language of a catalogue; English where it has no template for this one."""
        return _filled(self.template, _translated(self.template, catalogue), self.values, catalogue)

    def mapped(self, change: Callable[[str], str]) -> Message:
        """The same message with each text that it quotes changed."""
        return Message(self.template, *(_changed(value, change) for value in self.values))

    def __add__(self, other: str) -> Message:
        return Joined("", (self, other))

    def __radd__(self, other: str) -> Message:
        return Joined("", (other, self))

    def __str__(self) -> str:
        return self

    def __copy__(self) -> Message:
        return self

    def __deepcopy__(self, memo: object) -> Message:
        return self


class Plural(Message):
    """A template for one thing and another for several, with the same names of places; ngettext chooses."""

    __slots__ = ("number", "one")
    one: str
    number: int

    def __new__(cls, one: str, many: str, number: int, *values: object) -> Plural:  # noqa: PYI034 - as above
        """Raises ValueError if there are not as many values as names."""
        self = str.__new__(cls, _filled(many, one if number == 1 else many, values, _ENGLISH))
        self.one, self.template, self.number, self.values = one, many, number, values
        return self

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        """What a copy is made of, for pickle; `str` would give its text alone."""
        return self.one, self.template, self.number, *self.values

    def said(self, catalogue: Catalogue) -> str:
        """The text in the language of a catalogue."""
        template = catalogue.ngettext(self.one, self.template, self.number)
        return _filled(self.template, template, self.values, catalogue)

    def mapped(self, change: Callable[[str], str]) -> Message:
        """The same message with each text that it quotes changed."""
        return Plural(self.one, self.template, self.number, *(_changed(value, change) for value in self.values))


class Joined(Message):
    """Texts, messages among them, with a separator between them."""

    __slots__ = ()

    def __new__(cls, separator: str, values: Iterable[object]) -> Joined:  # noqa: PYI034 - as above
        """The separator is a message, too: ", " is another sign in Chinese."""
        values = tuple(values)
        self = str.__new__(cls, separator.join(_plain(str(value)) for value in values))
        self.template = separator
        self.values = values
        return self

    def __getnewargs__(self) -> tuple[str, tuple[object, ...]]:  # type: ignore[override]
        """As for a plural."""
        return self.template, self.values

    def said(self, catalogue: Catalogue) -> str:
        """The text in the language of a catalogue."""
        separator = _translated(self.template, catalogue)
        parts = [part for value in self.values for part in (separator, say(value, catalogue))]
        return _closed_up(["", *parts[1:]])

    def mapped(self, change: Callable[[str], str]) -> Message:
        """The same message with each text that it quotes changed."""
        return Joined(self.template, (_changed(value, change) for value in self.values))


class Capitalised(Message):
    """A text with a capital letter in front."""

    __slots__ = ()

    def __new__(cls, text: str) -> Capitalised:  # noqa: PYI034 - as above
        """The text may be a message."""
        self = str.__new__(cls, _capitalised(_plain(text)))
        self.template = "{text}"
        self.values = (text,)
        return self

    def said(self, catalogue: Catalogue) -> str:
        """The text in the language of a catalogue."""
        return _capitalised(say(self.values[0], catalogue))

    def mapped(self, change: Callable[[str], str]) -> Message:
        """The same message with each text that it quotes changed."""
        return Capitalised(mapped(str(self.values[0]), change))


def msg(template: str, *values: object) -> Message:
    """A message; the templates given to this function are what the catalogues are made of."""
    return Message(template, *values)


def plural(one: str, many: str, number: int, *values: object) -> Message:
    """A message about one thing or several: `plural("{n} file", "{n} files", n, n)`, as ngettext takes it."""
    return Plural(one, many, number, *values)


def joined(separator: str, parts: Iterable[object]) -> Message:
    """The parts with a separator between them, as `str.join` has it for texts."""
    return Joined(separator, parts)


def message(text: str) -> Message:
    """The text as a message: a constant text of the kit is a whole template."""
    return text if isinstance(text, Message) else Message(text)


def say(text: object, catalogue: Catalogue) -> str:
    """A message in the language of a catalogue; any other value as it is."""
    return text.said(catalogue) if isinstance(text, Message) else str(text)


def mapped(text: str, change: Callable[[str], str]) -> str:
    """A text with all that it quotes changed: a message keeps its own words, any other text is a quotation."""
    return text.mapped(change) if isinstance(text, Message) else change(text)


def _translated(template: str, catalogue: Catalogue) -> str:
    """A template in the language of a catalogue. gettext has its own header under the empty one."""
    return catalogue.gettext(template) if template else template


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain(text: str) -> str:
    """A text, or the English of a message, without a template."""
    return str.__str__(text)


def _changed(value: object, change: Callable[[str], str]) -> object:
    return mapped(value, change) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _parsed(template: str) -> tuple[tuple[str, str | None, str], ...]:
    """Literal, name and format of each place; the last literal has neither."""
    return tuple((literal, name, spec or "") for literal, name, spec, _ in Formatter().parse(template))


@lru_cache(maxsize=4096)
def names(template: str) -> tuple[str, ...]:
    """The names of a template's places, each once, in their order."""
    return tuple(dict.fromkeys(name for _, name, _ in _parsed(template) if name is not None))


def _filled(original: str, template: str, values: tuple[object, ...], catalogue: Catalogue) -> str:
    """The template with the values in its places; `original` says in which order they come."""
    if not values:
        return template
    value_of = dict(zip(names(original), values, strict=True))
    parts = []
    for literal, name, spec in _parsed(template):
        parts.append(literal)
        if name is not None:
            value = value_of[name]
            parts.append(format(_plain(say(value, catalogue)) if isinstance(value, str) else value, spec))
    return _closed_up(parts)


def _closed_up(parts: Sequence[str]) -> str:
    """Literals and values, in turn, as one text; a literal has no blank at a joint with Chinese on both sides.

    A template cannot know whether a Chinese word or a Latin one will stand in its place. Values stay as they are.
    """
    text = ""
    for number, part in enumerate(parts):
        is_literal = number % 2 == 0
        text += _closed(text, part, next(filter(None, parts[number + 1 :]), "")) if is_literal else part
    return text


def _closed(before: str, literal: str, after: str) -> str:
    if (
        literal.startswith(" ")
        and _CHINESE.match(before[-1:])
        and _CHINESE.match((literal.lstrip(" ") + after)[:1])
    ):
        literal = literal.lstrip(" ")
    if literal.endswith(" ") and _CHINESE.match(after) and _CHINESE.match((before + literal.rstrip(" "))[-1:]):
        literal = literal.rstrip(" ")
    return literal
