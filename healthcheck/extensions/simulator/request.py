"""A request to the simulated endpoint: its messages, and their token counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from healthcheck.core.records import JsonValue

IMAGE_TOKENS = 64


def text_of(message: Mapping[str, JsonValue]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part
    )


def with_text(message: Mapping[str, JsonValue], text: str) -> dict[str, JsonValue]:
    """The message with another text and its own images."""
    content = message.get("content")
    pictures = (
        [p for p in content if isinstance(p, dict) and "text" not in p]
        if isinstance(content, list)
        else []
    )
    return {**message, "content": [*pictures, {"type": "text", "text": text}] if pictures else text}


def images_of(message: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The image URLs of a message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    urls = (part.get("image_url") for part in parts if isinstance(part, dict))
    return tuple(str(url.get("url") if isinstance(url, dict) else url) for url in urls if url)


def last_user_text(messages: Sequence[Mapping[str, JsonValue]]) -> str:
    """The text of the last user message, "" if there is none."""
    return next((text_of(m) for m in reversed(messages) if m.get("role") == "user"), "")


_TOKEN = re.compile(r"\s*(?:[\u0080-\U0010ffff]|[^\s\u0080-\U0010ffff]+)|\s+")


class Tokenizer(Protocol):
    """A tokenizer with its chat template. It does not count images: the endpoint does."""

    def pieces(self, text: str) -> tuple[str, ...]:
        """Split the text into tokens; joined, they are the text."""

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        """The number of tokens of the templated prompt, including the generation prompt.

        Raises:
            ValueError: the template refuses the conversation; the server answers 400.
        """


@dataclass(frozen=True, slots=True)
class Words:
    """Words with the preceding space; beyond ASCII, each character is a token. Each message adds four tokens."""

    def pieces(self, text: str) -> tuple[str, ...]:
        return tuple(_TOKEN.findall(text))

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        return sum(4 + len(self.pieces(text_of(message))) for message in messages)


DEFAULT_LIMIT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One parsed request.

    Attributes:
        body: the JSON object of a POST; None if the bytes are not a JSON object.
        number: the number of earlier chat requests.
        concurrent: the number of other chat requests in progress at its arrival.
        tokenizer: the model's tokenizer.
        kept_tokens: the length of a prompt that a fault has cut; None for a whole one.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, JsonValue] | None
    number: int = 0
    concurrent: int = 0
    tokenizer: Tokenizer = field(default_factory=Words)
    kept_tokens: int | None = None

    @property
    def messages(self) -> tuple[Mapping[str, JsonValue], ...]:
        listed = (self.body or {}).get("messages")
        return tuple(m for m in listed if isinstance(m, dict)) if isinstance(listed, list) else ()

    @property
    def streamed(self) -> bool:
        return bool((self.body or {}).get("stream"))

    def number_of(self, key: str, default: float) -> float:
        """A numeric field of the body."""
        value = (self.body or {}).get(key)
        return value if isinstance(value, (int, float)) else default

    @property
    def limit(self) -> int:
        """The most tokens of the completion."""
        return int(
            self.number_of("max_completion_tokens", self.number_of("max_tokens", DEFAULT_LIMIT))
        )

    @property
    def prompt_tokens(self) -> int:
        """The number of tokens of the templated prompt, including images."""
        if self.kept_tokens is not None:
            return self.kept_tokens
        pictures = sum(len(images_of(message)) for message in self.messages)
        return self.tokenizer.prompt_tokens(self.messages) + IMAGE_TOKENS * pictures
