"""Chat messages as the simulated endpoint reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from healthcheck.records import JsonValue

IMAGE_TOKENS = 64


def text_of(message: Mapping[str, JsonValue]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def with_text(message: Mapping[str, JsonValue], text: str) -> dict[str, JsonValue]:
    """The message with another text, and with its pictures."""
    content = message.get("content")
    pictures = [p for p in content if isinstance(p, dict) and "text" not in p] if isinstance(content, list) else []
    return {**message, "content": [*pictures, {"type": "text", "text": text}] if pictures else text}


def images_of(message: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The picture addresses of a message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    urls = (part.get("image_url") for part in parts if isinstance(part, dict))
    return tuple(str(url.get("url") if isinstance(url, dict) else url) for url in urls if url)


def last_user_text(messages: Sequence[Mapping[str, JsonValue]]) -> str:
    """The text of the last user message, "" if there is none."""
    return next((text_of(m) for m in reversed(messages) if m.get("role") == "user"), "")
