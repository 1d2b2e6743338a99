"""Messages: templates with values, which a renderer translates into its reader's language.

    msg("port {port} ({source})", port=plan.port, source=plan.source)

A message is a `str`, its English text. A value may be a message, which is translated as well, or an exception,
which stands for its text. Any other text is a quotation (a log line, a command, a name) and never changes.

Templates say deploy.sh. Where a service runs another script, `naming` has them say its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from gettext import NullTranslations
from pathlib import PurePath
from string import Formatter

Catalogue = NullTranslations
"""Maps templates to those of another language, which have the same placeholders in any order."""
_ENGLISH = NullTranslations()
SCRIPT = "deploy.sh"
"""The service's script in templates and pages."""
_SCRIPT_WORD = re.compile(r"(?<![\w.-])deploy\.sh(?!\.?\w|-)", re.ASCII)
_script = SCRIPT
_CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


class Message(str):
    """A template with named placeholders, and their values in that order; equal names share one value.

    Without values the template is the text, and braces are literal.
    """

    __slots__ = ("template", "values")
    template: str
    values: tuple[object, ...]

    def __new__(cls, template: str, *values: object) -> Message:  # noqa: PYI034 - Self is in typing since 3.11
        """Raises ValueError if values and names differ in number."""
        values = tuple(
            str(value) if isinstance(value, (BaseException, PurePath)) else value
            for value in values
        )
        self = super().__new__(cls, _filled(template, template, values, _ENGLISH))
        self.template = template
        self.values = values
        return self

    def said(self, catalogue: Catalogue) -> str:
        """The text in the language of a catalogue; English if the catalogue lacks the template."""
        return _filled(self.template, _translated(self.template, catalogue), self.values, catalogue)

    def mapped(self, change: Callable[[str], str]) -> Message:
        """The same message with `change` applied to each text that it quotes."""
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
    """A template for one and another for several, with the same placeholders; ngettext chooses."""

    __slots__ = ("number", "one")
    one: str
    number: int

    def __new__(cls, one: str, many: str, number: int, *values: object) -> Plural:  # noqa: PYI034 - as above
        """Raises ValueError if values and names differ in number."""
        self = str.__new__(cls, _filled(many, one if number == 1 else many, values, _ENGLISH))
        self.one, self.template, self.number, self.values = one, many, number, values
        return self

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        """The arguments to copy or unpickle it with; those of `str` are its text alone."""
        return self.one, self.template, self.number, *self.values

    def said(self, catalogue: Catalogue) -> str:
        template = catalogue.ngettext(self.one, self.template, self.number)
        return _filled(self.template, template, self.values, catalogue)

    def mapped(self, change: Callable[[str], str]) -> Message:
        return Plural(
            self.one,
            self.template,
            self.number,
            *(_changed(value, change) for value in self.values),
        )


class Joined(Message):
    """Texts, messages among them, with a separator between them."""

    __slots__ = ()

    def __new__(cls, separator: str, values: Iterable[object]) -> Joined:  # noqa: PYI034 - as above
        """The separator is a message, too: ", " is another character in Chinese."""
        values = tuple(values)
        self = str.__new__(cls, separator.join(_plain(str(value)) for value in values))
        self.template = separator
        self.values = values
        return self

    def __getnewargs__(self) -> tuple[str, tuple[object, ...]]:  # type: ignore[override]
        return self.template, self.values

    def said(self, catalogue: Catalogue) -> str:
        separator = _translated(self.template, catalogue)
        parts = [part for value in self.values for part in (separator, say(value, catalogue))]
        return _closed_up(["", *parts[1:]])

    def mapped(self, change: Callable[[str], str]) -> Message:
        return Joined(self.template, (_changed(value, change) for value in self.values))


class Capitalised(Message):
    """A text with a capital first letter."""

    __slots__ = ()

    def __new__(cls, text: str) -> Capitalised:  # noqa: PYI034 - as above
        self = str.__new__(cls, _capitalised(_plain(text)))
        self.template = "{text}"
        self.values = (text,)
        return self

    def said(self, catalogue: Catalogue) -> str:
        return _capitalised(say(self.values[0], catalogue))

    def mapped(self, change: Callable[[str], str]) -> Message:
        return Capitalised(mapped(str(self.values[0]), change))


@contextmanager
def naming(script: str) -> Iterator[None]:
    """In the block, messages say the name of this script where their templates say deploy.sh."""
    global _script  # noqa: PLW0603 - a part of the profile in force
    before, _script = _script, script
    try:
        yield
    finally:
        _script = before


def named(template: str) -> str:
    """A template or a page that says the name of the script in force."""
    return template if _script == SCRIPT else _SCRIPT_WORD.sub(_script, template)


def msg(template: str, /, **values: object) -> Message:
    """Make a message; the catalogues are made from the templates in calls of this function.

    Raises:
        ValueError: the keywords are not the placeholders of the template.
    """
    return Message(template, *_in_order(template, values))


def plural(one: str, many: str, number: int, /, **values: object) -> Message:
    """Make a message about one or several: `plural("{n} file", "{n} files", n, n=n)`, like ngettext.

    Raises:
        ValueError: the keywords are not the placeholders of `many`.
    """
    return Plural(one, many, number, *_in_order(many, values))


def _in_order(template: str, values: Mapping[str, object]) -> tuple[object, ...]:
    """The values in the order of the template's placeholders."""
    if not values:
        return ()
    wanted = names(template)
    if set(wanted) != set(values):
        raise ValueError(
            f"{template!r} has the placeholders {', '.join(wanted)}, and not {', '.join(values)}"
        )
    return tuple(values[name] for name in wanted)


def joined(separator: str, parts: Iterable[object]) -> Message:
    """Join texts and messages with a separator, like `str.join`."""
    return Joined(separator, parts)


def message(text: str) -> Message:
    """The text as a message, with a constant text of the kit as its template."""
    return text if isinstance(text, Message) else Message(text)


def say(text: object, catalogue: Catalogue) -> str:
    """The translation of a message; any other value as text."""
    return text.said(catalogue) if isinstance(text, Message) else str(text)


def mapped(text: str, change: Callable[[str], str]) -> str:
    """Apply `change` to the quotations in a text: a message keeps its own words, any other text is a quotation."""
    return text.mapped(change) if isinstance(text, Message) else change(text)


def _translated(template: str, catalogue: Catalogue) -> str:
    """The template in the language of a catalogue; not for "", under which gettext keeps its header."""
    return catalogue.gettext(template) if template else template


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain(text: str) -> str:
    """The text without its template, in English."""
    return str.__str__(text)


def _changed(value: object, change: Callable[[str], str]) -> object:
    return mapped(value, change) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _parsed(template: str) -> tuple[tuple[str, str | None, str], ...]:
    """Literal, name and format of each placeholder; the last literal has neither."""
    return tuple(
        (literal, name, spec or "") for literal, name, spec, _ in Formatter().parse(template)
    )


@lru_cache(maxsize=4096)
def names(template: str) -> tuple[str, ...]:
    """The names of a template's placeholders, without duplicates, in order."""
    return tuple(dict.fromkeys(name for _, name, _ in _parsed(template) if name is not None))


def _filled(original: str, template: str, values: tuple[object, ...], catalogue: Catalogue) -> str:
    """Fill the template with the values; `original` states their order."""
    template = named(template)
    if not values:
        return template
    value_of = dict(zip(names(original), values, strict=True))
    parts = []
    for literal, name, spec in _parsed(template):
        parts.append(literal)
        if name is not None:
            value = value_of[name]
            parts.append(
                format(_plain(say(value, catalogue)) if isinstance(value, str) else value, spec)
            )
    return _closed_up(parts)


def _closed_up(parts: Sequence[str]) -> str:
    """Join alternating literals and values; a literal loses its blank next to Chinese on both sides.

    A template cannot know whether a Chinese word or a Latin one takes its placeholder. Values stay unchanged.
    """
    text = ""
    for number, part in enumerate(parts):
        is_literal = number % 2 == 0
        text += (
            _closed(text, part, next(filter(None, parts[number + 1 :]), "")) if is_literal else part
        )
    return text


def _closed(before: str, literal: str, after: str) -> str:
    if (
        literal.startswith(" ")
        and _CHINESE.match(before[-1:])
        and _CHINESE.match((literal.lstrip(" ") + after)[:1])
    ):
        literal = literal.lstrip(" ")
    if (
        literal.endswith(" ")
        and _CHINESE.match(after)
        and _CHINESE.match((before + literal.rstrip(" "))[-1:])
    ):
        literal = literal.rstrip(" ")
    return literal
