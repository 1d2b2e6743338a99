"""What the simulated model says to one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from healthcheck.records import JsonValue
from healthcheck.simulator.request import Request

_UNSURE = -3.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """An answer in tokens.

    Attributes:
        finish: "stop" or "length".
        counted: the completion tokens that usage tells; None for those that were made.
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
    def made(self) -> int:
        """Tokens that were made, thoughts included."""
        return len(self.reasoning) + len(self.tokens)

    @property
    def completion_tokens(self) -> int:
        """What usage tells."""
        return self.made if self.counted is None else self.counted

    def logprob(self, index: int) -> float:
        """Of a token, the reasoning's first."""
        return self.logprobs[index] if index < len(self.logprobs) else _UNSURE


def cut(spoken: Spoken, limit: int, finish: str) -> Spoken:
    """The first so many tokens, thoughts first."""
    reasoning = spoken.reasoning[:limit]
    return replace(spoken, reasoning=reasoning, tokens=spoken.tokens[: limit - len(reasoning)], finish=finish)


def ended(spoken: Spoken, request: Request) -> Spoken:
    """The answer as far as the request's limit and stop strings let it come."""
    body, limit = request.body or {}, request.limit
    must_go_on = bool(body.get("ignore_eos"))
    finish = "length" if must_go_on or spoken.made > limit else "stop"
    spoken = cut(spoken, limit, finish)
    place = _stop_place("".join(spoken.reasoning) + spoken.text, body.get("stop"))
    if place is None:
        return spoken
    kept = _before((*spoken.reasoning, *spoken.tokens), place)
    thoughts = len(spoken.reasoning)
    return replace(spoken, reasoning=kept[:thoughts], tokens=kept[thoughts:], finish="stop")


def _stop_place(text: str, stop: JsonValue) -> int | None:
    words = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    places = [text.find(word) for word in words if isinstance(word, str) and word]
    return min((place for place in places if place >= 0), default=None)


def _before(tokens: Sequence[str], characters: int) -> tuple[str, ...]:
    """The tokens of the first so many characters; the last one may be cut."""
    kept = []
    for token in tokens:
        if characters <= 0:
            break
        kept.append(token[:characters])
        characters -= len(token)
    return tuple(kept)
