"""The simulated model of /v1/completions: log-probabilities of the next token, from all previous tokens."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.extensions.simulator.draws import WORDS, uniform

_SPREAD = 8.0
"""The largest difference in nats between the likeliest and the least likely logit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The situation in which one token is computed.

    Attributes:
        ids: all previous tokens; `decoded` of them belong to the completion.
        cached: cached tokens of the prompt.
        batch: concurrent requests of few tokens, including this one.
        decoding: concurrent requests of many tokens that decode.
        streamed: whether the answer is a stream.
        request: the number of the request.
        row: the place among the requests in progress.
    """

    ids: Sequence[int]
    decoded: int = 0
    cached: int = 0
    batch: int = 1
    decoding: int = 0
    streamed: bool = False
    request: int = 0
    row: int = 0

    @property
    def prompt(self) -> int:
        """The number of prompt tokens."""
        return len(self.ids) - self.decoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is told of the next token, and what it is drawn from: an honest sampler's are of the same logits.

    Attributes:
        told: log-probabilities at temperature 1.
        logits: of the draw.
        temperature: of the draw; 0 for the likeliest.
    """

    told: Sequence[float]
    logits: Sequence[float]
    temperature: float

    def token(self, key: str) -> int:
        """The token that is drawn."""
        if self.temperature == 0:
            return max(range(len(self.logits)), key=self.logits.__getitem__)
        likely = logprobs([value / self.temperature for value in self.logits])
        ends = list(itertools.accumulate(map(math.exp, likely)))
        return min(bisect.bisect_right(ends, uniform(key) * ends[-1]), len(ends) - 1)


class Vocabulary:
    """Tokens and their ids: the model's words, then every piece of text in requests."""

    def __init__(self) -> None:
        self._texts = [f" {word}" for word in WORDS]
        self._ids = {text: place for place, text in enumerate(self._texts)}

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The ids of pieces of text; a new piece gets the next id."""
        for piece in pieces:
            if piece not in self._ids:
                self._ids[piece] = len(self._texts)
                self._texts.append(piece)
        return [self._ids[piece] for piece in pieces]

    def text(self, token: int) -> str:
        """The text of an id; a replacement character for an unassigned one."""
        return self._texts[token] if 0 <= token < len(self._texts) else "�"


def logits(ids: Sequence[int], key: str = "") -> list[float]:
    """A logit for each of the model's words; with a key, those of another model."""
    seen = array("q", ids).tobytes()
    digest = hashlib.shake_128(key.encode() + seen).digest(len(WORDS))
    return [_SPREAD * (byte / 255) ** 2 for byte in digest]


def logprobs(values: Sequence[float]) -> list[float]:
    """The log-probabilities of logits at temperature 1."""
    top = max(values)
    total = top + math.log(sum(math.exp(value - top) for value in values))
    return [value - total for value in values]
