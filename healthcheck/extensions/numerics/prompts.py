"""Prompts of chosen lengths: natural text, so that the model is sure of some tokens and unsure of others."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Protocol

from healthcheck.extensions.numerics.records import Prompt, TokenIds
from healthcheck.stages.probe.problems import TIERS, generate, prompt

TEXTS = 400
_STEP = 37
"""Tokens between two possible starts of a prompt."""
_CHARACTERS_A_TOKEN = 3
FACTORS = (1.0, 1.6, 2.4, 3.4, 4.8, 6.5, 9.0, 12.5, 17.0, 23.0, 32.0, 45.0, 64.0, 110.0)
SHORTEST = 20
BLOCKS = (16, 128)
"""Tokens in a block of the key-value cache: vLLM's own default, and vllm-ascend's."""


def texts(seed: int) -> Sequence[str]:
    """Word problems, each once."""
    problems = [
        each
        for tier in ("easy", "medium")
        for each in generate("arithmetic", tier, seed, TEXTS // 2)
    ]
    random.Random(seed).shuffle(problems)
    return [prompt(problem).strip() for problem in problems]


def messages(seed: int) -> Sequence[Prompt]:
    """Word problems of each tier in turn."""
    tiers = [generate("arithmetic", tier, seed, TEXTS // 2) for tier in TIERS]
    return [Prompt(text=prompt(each).strip()) for row in zip(*tiers, strict=True) for each in row]


def lengths(longest: int) -> list[int]:
    """Ordinary lengths, from one sentence to the longest, in equal ratios."""
    return sorted({min(int(SHORTEST * factor), longest) for factor in FACTORS})


def edges(longest: int, context: int | None, tokens: int) -> list[int]:
    """Lengths on both sides of the sizes in engines: blocks, power-of-two graphs, the chunk of a prefill.

    One is near the end of the context. It may exceed the longest, if that is at least a chunk.
    """
    near = [edge + step for edge in BLOCKS for step in (-1, 0, 1)]
    near += [edge + step for edge in (*GRAPHS, *CHUNKS) for step in (0, 1)]
    end = context - tokens - 1 if context else 0
    found = {length for length in near if SHORTEST // 2 <= length <= longest}
    last = LONGEST_END if longest >= CHUNKS[0] else longest
    return sorted(found | ({end} if SHORTEST // 2 <= end <= last else set()))


LONGEST_END = 16_384
"""Tokens of the longest prompt near the end of a context: its ids fit into one argument of a shell command."""
GRAPHS = (64, 256, 512)
"""Tokens of a step with a captured graph: some of the sizes that vLLM captures."""
CHUNKS = (2048, 4096, 8192)
"""Tokens of a step (--max-num-batched-tokens), above which a prefill is split: the defaults of vLLM."""


class Source(Protocol):
    """The source of prompts."""

    def prompt(self, length: int) -> Prompt:
        """A prompt of this length that was not returned before."""


class TokenSource:
    """Cuts prompts out of one long text. Prompts begin at different places, so that they share no prefix."""

    def __init__(self, ids: TokenIds, seed: int) -> None:
        self._ids = ids
        starts = list(range(0, len(ids), _STEP))
        random.Random(seed).shuffle(starts)
        self._starts = itertools.cycle(starts)

    def prompt(self, length: int) -> Prompt:
        """A prompt of this many tokens, new as long as the text has unused places."""
        start = next(self._starts)
        text = self._ids[start:] + self._ids[:start]
        return Prompt(ids=(text * (length // len(text) + 1))[:length])


class TextSource:
    """The same if only text can be sent, at about three characters per token.

    Texts are cut: prompts that all end with the same instruction get similar answers.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self._pieces = itertools.cycle(pieces)

    def prompt(self, length: int) -> Prompt:
        """A prompt of about this many tokens."""
        text = next(self._pieces)
        while len(text) < _CHARACTERS_A_TOKEN * length:
            text += "\n\n" + next(self._pieces)
        return Prompt(text=text[: _CHARACTERS_A_TOKEN * length].rstrip())
