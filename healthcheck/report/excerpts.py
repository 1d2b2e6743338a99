"""Excerpts of untrusted texts for the page: with a common budget, and without characters that hide or move text."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.report import words
from healthcheck.text.redact import beginning

MOST_CHARACTERS = 20_000
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A text, or its beginning if it was cut; `whole` is the length of the full text."""

    text: str
    whole: int
    cut: bool


def script_json(value: JsonValue) -> str:
    """JSON for a script element: no text in it can end the element or a line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(
        _ESCAPES
    )


def excerpts(texts: Sequence[str], budget_bytes: int) -> tuple[Excerpt, ...]:
    """The texts, cut to one common length if together they exceed the budget.

    Short ones stay whole, so that a few endless answers do not truncate the others. Bytes are those of
    `script_json`.
    """
    shown = [words.plain(beginning(text, MOST_CHARACTERS).expandtabs(4)) for text in texts]
    level = _level([_bytes(text) for text in shown], budget_bytes)
    return tuple(_excerpt(full, text, level) for full, text in zip(texts, shown, strict=True))


def _excerpt(full: str, shown: str, bound_bytes: int) -> Excerpt:
    text = _fitting(shown, bound_bytes)
    return Excerpt(text=text, whole=len(full), cut=text != shown or len(full) > MOST_CHARACTERS)


def _bytes(text: str) -> int:
    return len(script_json(text).encode())


def _level(sizes: Sequence[int], budget: int) -> int:
    """The greatest common bound with which the sizes fit the budget."""
    left = budget
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _fitting(text: str, bound_bytes: int) -> str:
    """The longest prefix of the text whose JSON fits."""
    if _bytes(text) <= bound_bytes:
        return text
    beyond = bisect_right(range(len(text)), bound_bytes, key=lambda end: _bytes(text[:end]))
    return text[: max(beyond - 1, 0)]
