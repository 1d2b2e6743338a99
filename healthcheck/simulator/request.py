"""A request as the simulated endpoint sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.records import JsonValue

IMAGE_TOKENS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One parsed request.

    Attributes:
        body: the JSON object of a POST; None where the bytes are no JSON object.
        number: how many chat requests came before it.
        beside: how many other chat requests are being answered at its arrival.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, JsonValue] | None
    number: int = 0
    beside: int = 0

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


def text_of(message: Mapping[str, JsonValue]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def images_of(message: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The picture addresses of a message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    urls = (part.get("image_url") for part in parts if isinstance(part, dict))
    return tuple(str(url.get("url") if isinstance(url, dict) else url) for url in urls if url)


def last_user_text(messages: tuple[Mapping[str, JsonValue], ...]) -> str:
    """The text of the last user message, "" where there is none."""
    return next((text_of(m) for m in reversed(messages) if m.get("role") == "user"), "")
