"""Kinds of option values: what a TOML file may have for an option, and how a command line writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from healthcheck import toml_text
from healthcheck.messages import msg
from healthcheck.records import JsonValue
from healthcheck.toml_text import TomlError

_DEEPEST = 20
_LARGEST = 2**63


class Kind(Protocol):
    """What values an option takes."""

    @property
    def words(self) -> str:
        """The values in words, such as "a number from 0 to 2"."""

    def taken(self, value: object) -> object:
        """The value as the record has it.

        Raises:
            ValueError: it is not such a value; the message says what is expected.
        """

    def read(self, text: str) -> object:
        """The value that a command line wrote.

        Raises:
            ValueError: as for `taken`.
        """


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers from `low` to `high`."""

    low: int | None = None
    high: int | None = None

    @property
    def words(self) -> str:
        return msg("a whole number{range}", _range(self.low, self.high))

    def taken(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or _outside(value, self.low, self.high):
            raise ValueError(self.words)
        return value

    def read(self, text: str) -> int:
        try:
            return self.taken(int(text))
        except ValueError as error:
            raise ValueError(self.words) from error


@dataclass(frozen=True, slots=True)
class Number:
    """Finite numbers from `low` to `high`; `positive` leaves zero out."""

    low: float | None = None
    high: float | None = None
    positive: bool = False

    @property
    def words(self) -> str:
        if self.positive:
            return msg("a number above 0") + (msg(", at most {high:g}", self.high) if self.high is not None else "")
        return msg("a number{range}", _range(self.low, self.high))

    def taken(self, value: object) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or _outside(value, self.low, self.high):
            raise ValueError(self.words)
        if self.positive and value <= 0:
            raise ValueError(self.words)
        return float(value)

    def read(self, text: str) -> float:
        try:
            return self.taken(float(text))
        except ValueError as error:
            raise ValueError(self.words) from error


@dataclass(frozen=True, slots=True)
class Points:
    """Points of accuracy from 1 to 99; a percent sign may follow. A share is refused: 0.5 could be half a point."""

    words: str = msg("points of accuracy from 1 to 99, such as 5 or 5%")

    def taken(self, value: object) -> float:
        if isinstance(value, str):
            return self.read(value)
        try:
            return Number(1, 99).taken(value)
        except ValueError as error:
            raise ValueError(self.words) from error

    def read(self, text: str) -> float:
        try:
            return self.taken(float(text.strip().removesuffix("%")))
        except ValueError as error:
            raise ValueError(self.words) from error


@dataclass(frozen=True, slots=True)
class Text:
    """Text that is not empty, where `holds` says so with certain words in it."""

    words: str = msg("a text")
    holds: str = ""

    def taken(self, value: object) -> str:
        if not isinstance(value, str) or not value.strip() or self.holds not in value:
            raise ValueError(self.words)
        return value

    def read(self, text: str) -> str:
        return self.taken(text)


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    words: str = msg("true or false")

    def taken(self, value: object) -> bool:
        if value is not True and value is not False:
            raise ValueError(self.words)
        return value

    def read(self, text: str) -> bool:
        return self.taken({"true": True, "false": False}.get(text))


@dataclass(frozen=True, slots=True)
class Texts:
    """A text, or a list of them."""

    words: str = msg("a text or a list of texts")

    def taken(self, value: object) -> tuple[str, ...]:
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not listed or not all(isinstance(item, str) and item for item in listed):
            raise ValueError(self.words)
        return tuple(listed)

    def read(self, text: str) -> tuple[str, ...]:
        value = written(text)
        return self.taken(value if isinstance(value, list) else text)


@dataclass(frozen=True, slots=True)
class Table:
    """Names with any values that JSON has; `fit` may refuse some of them."""

    words: str = msg("a table")
    fit: Callable[[Mapping[str, JsonValue]], None] = lambda _: None

    def taken(self, value: object) -> dict[str, JsonValue]:
        if not isinstance(value, dict):
            raise ValueError(self.words)  # noqa: TRY004 - all kinds refuse alike
        plain: dict[str, JsonValue] = {str(name): _json(item, _DEEPEST) for name, item in value.items()}
        self.fit(plain)
        return plain

    def read(self, text: str) -> dict[str, JsonValue]:
        return self.taken(written(text))


@dataclass(frozen=True, slots=True)
class Names:
    """Names, each with a text; `fit` may refuse some of them."""

    words: str = msg("a table of texts")
    fit: Callable[[Mapping[str, str]], None] = lambda _: None

    def taken(self, value: object) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(item, str) and item for item in value.values()):
            raise ValueError(self.words)
        self.fit(value)
        return value

    def read(self, text: str) -> dict[str, str]:
        return self.taken(written(text))


@dataclass(frozen=True, slots=True)
class Numbers:
    """So many finite numbers, in a list or with commas between them; `fit` refuses combinations."""

    words: str
    count: int
    fits: Callable[[tuple[float, ...]], bool]

    def taken(self, value: object) -> tuple[float, ...]:
        if not isinstance(value, list) or len(value) != self.count:
            raise ValueError(self.words)
        numbers = tuple(Number().taken(item) for item in value)
        if not self.fits(numbers):
            raise ValueError(self.words)
        return numbers

    def read(self, text: str) -> tuple[float, ...]:
        try:
            numbers: list[object] = [float(part) for part in text.strip("[]").split(",")]
        except ValueError as error:
            raise ValueError(self.words) from error
        return self.taken(numbers)


def written(text: str) -> object:
    """A value as TOML or JSON writes it, else the text itself."""
    from healthcheck.json_text import JsonError, load  # noqa: PLC0415 - --help reads no value

    try:
        found = toml_text.load(msg("value = {text}", text), "value")
    except TomlError:
        found = {}
    if len(found) == 1:
        return found["value"]
    try:
        return load(text)
    except JsonError:
        return text


def quoted(value: object) -> str:
    """A value for a message, short."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _json(value: object, deepest: int) -> JsonValue:
    if deepest and isinstance(value, dict):
        return {str(name): _json(item, deepest - 1) for name, item in value.items()}
    if deepest and isinstance(value, list):
        return [_json(item, deepest - 1) for item in value]
    if isinstance(value, str) or (isinstance(value, (int, float)) and abs(value) < _LARGEST):
        return value
    raise ValueError(
        msg("values that JSON and TOML both have: texts, finite numbers, true or false, lists and tables")
    )


def _outside(value: float, low: float | None, high: float | None) -> bool:
    """Whether it is none from `low` to `high`, or none that JSON readers agree on."""
    within = abs(value) < _LARGEST and (low is None or value >= low) and (high is None or value <= high)
    return not within


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return msg(" from {low} to {high}", low, high)
    return (
        msg(", at least {low}", low)
        if low is not None
        else msg(", at most {high}", high)
        if high is not None
        else ""
    )
