"""The simulated model's result for one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.request import Request

_UNSURE = -3.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A completion in tokens.

    Attributes:
        finish: "stop" or "length".
        counted: the completion tokens that usage reports; None to report the real number.
        logprobs: log-probabilities at temperature 1, of the reasoning's tokens and then the text's.
    """

    tokens: tuple[str, ...]
    finish: str
    prompt_tokens: int
    reasoning: tuple[str, ...] = ()
    counted: int | None = None
    logprobs: tuple[float, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.tokens)

    @property
    def length(self) -> int:
        """The number of generated tokens, including those of the reasoning."""
        return len(self.reasoning) + len(self.tokens)

    @property
    def completion_tokens(self) -> int:
        """The number that usage reports."""
        return self.length if self.counted is None else self.counted

    def logprob(self, index: int) -> float:
        """The log-probability of a token; those of the reasoning come first."""
        return self.logprobs[index] if index < len(self.logprobs) else _UNSURE


def truncated(generation: Generation, limit: int, finish: str) -> Generation:
    """The first `limit` tokens, starting with those of the reasoning."""
    reasoning = generation.reasoning[:limit]
    tokens = generation.tokens[: limit - len(reasoning)]
    return replace(generation, reasoning=reasoning, tokens=tokens, finish=finish)


def limited(generation: Generation, request: Request) -> Generation:
    """The generation, cut at the request's limit and stop strings."""
    body, limit = request.body or {}, request.limit
    must_go_on = bool(body.get("ignore_eos"))
    finish = "length" if must_go_on or generation.length > limit else "stop"
    generation = truncated(generation, limit, finish)
    place = _stop_place("".join(generation.reasoning) + generation.text, body.get("stop"))
    if place is None:
        return generation
    kept = _before((*generation.reasoning, *generation.tokens), place)
    thoughts = len(generation.reasoning)
    return replace(generation, reasoning=kept[:thoughts], tokens=kept[thoughts:], finish="stop")


def _stop_place(text: str, stop: JsonValue) -> int | None:
    words = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    places = [text.find(word) for word in words if isinstance(word, str) and word]
    return min((place for place in places if place >= 0), default=None)


def _before(tokens: Sequence[str], characters: int) -> tuple[str, ...]:
    """The tokens of the first `characters` characters; the last one may be cut."""
    kept = []
    for token in tokens:
        if characters <= 0:
            break
        kept.append(token[:characters])
        characters -= len(token)
    return tuple(kept)
