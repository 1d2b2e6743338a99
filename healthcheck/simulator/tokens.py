"""How the simulated model counts: the one place where text becomes tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from healthcheck.records import JsonValue
from healthcheck.simulator.messages import text_of

_TOKEN = re.compile(r"\s*(?:[\u0080-\U0010ffff]|[^\s\u0080-\U0010ffff]+)|\s+")


class Tokenizer(Protocol):
    """A tokenizer with its chat template. It does not count images: the endpoint does."""

    def pieces(self, text: str) -> tuple[str, ...]:
        """The text in tokens; joined they give the text."""

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        """Tokens of the templated prompt, the generation prompt included.

        Raises:
            ValueError: the template refuses the conversation; the server answers 400.
        """


@dataclass(frozen=True, slots=True)
class Words:
    """Words with the space before them; beyond ASCII, one character is one token. Four tokens around a message."""

    def pieces(self, text: str) -> tuple[str, ...]:
        return tuple(_TOKEN.findall(text))

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        return sum(4 + len(self.pieces(text_of(message))) for message in messages)
