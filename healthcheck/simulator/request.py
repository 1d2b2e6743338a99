"""A request as the simulated endpoint sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.records import JsonValue
from healthcheck.simulator.messages import IMAGE_TOKENS, images_of
from healthcheck.simulator.tokens import Tokenizer, Words

DEFAULT_LIMIT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One parsed request.

    Attributes:
        body: the JSON object of a POST; None if the bytes are not a JSON object.
        number: how many chat requests came before it.
        concurrent: how many other chat requests are being answered when it arrives.
        tokenizer: how the model counts tokens.
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
        """How many tokens the completion may have."""
        return int(self.number_of("max_completion_tokens", self.number_of("max_tokens", DEFAULT_LIMIT)))

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the templated prompt with its pictures."""
        if self.kept_tokens is not None:
            return self.kept_tokens
        pictures = sum(len(images_of(message)) for message in self.messages)
        return self.tokenizer.prompt_tokens(self.messages) + IMAGE_TOKENS * pictures
