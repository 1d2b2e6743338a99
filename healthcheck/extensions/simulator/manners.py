"""Honest manners of models: reasoning before the answer, many words or few, echoes, refusals, another language.

A manner turns a plain model's answer into its own. Assumptions that hold for plain models only fail for these,
although every one of them is healthy.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass

from healthcheck.extensions.simulator.draws import SALAD, chinese, nonsense, uniform, words
from healthcheck.text.messages import msg

_PREFACE = (
    "Certainly! Thank you very much for this interesting question, which I am happy to answer in detail. Before I "
    "come to the point, let me say a few words about how I understand what you asked, what matters most in it, and "
    "in which order I am going to treat it. "
)
_THOUGHT = "Okay, let me think about what the user wants here, step by step. "
_REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I'm sorry, but I cannot assist with that request.",
    "Sorry, I can't help with that.",
    "I apologize, but I'm not able to help with this.",
    "I'm unable to assist with that request.",
    "I'm afraid that I can't do that.",
    "As an AI assistant, I can't help with that.",
    "I'm sorry, but this is not something I can do.",
)
_CANONICAL_SHARE = 0.5
_THOUGHTS_WORDS = (2000, 4000)
_VERBOSE_WORDS = (600, 1500)
_SENTENCE_WORDS = 14


class Manner(enum.Enum):
    """The style of a model, independent of its server's dialect."""

    PLAIN = "plain"
    THINKS = "thinks"
    VERBOSE = "verbose"
    TERSE = "terse"
    ECHOES = "echoes"
    REFUSES = "refuses"
    CHINESE = "chinese"
    WEAK = "weak"
    SURE = "sure"
    BATCH_VARIANT = "batch-variant"


INCAPABLE = frozenset({Manner.ECHOES, Manner.REFUSES, Manner.CHINESE, Manner.WEAK})
"""Manners that never repeat a text on request."""
TOKENWISE = frozenset({Manner.SURE, Manner.ECHOES, Manner.REFUSES, Manner.VERBOSE})
"""Manners in which temperature changes single tokens of certain text."""
TEXTS = {
    Manner.PLAIN: msg("answers in about thirty tokens, and repeats a text on request"),
    Manner.THINKS: msg("thousands of tokens of thoughts before each answer"),
    Manner.VERBOSE: msg("a fixed preface, then hundreds of words"),
    Manner.TERSE: msg("one to five tokens"),
    Manner.ECHOES: msg("repeats the user's message"),
    Manner.REFUSES: msg("can't help with that, whatever it is"),
    Manner.CHINESE: msg("answers in Chinese only"),
    Manner.WEAK: msg("word salad"),
    Manner.SURE: msg("at temperature 1 one token in some thousands differs"),
    Manner.BATCH_VARIANT: msg(
        "at temperature 0 beside other requests, an answer may diverge from some token on"
    ),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer, and whether the model is certain of it; other words are drawn from dozens."""

    text: str
    certain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The prompt of an answer, prepared for a manner.

    Attributes:
        draw: the key of random draws.
        temperature: 0 for the likeliest tokens.
        last: the last user message.
        word: the requested code word, "" for none.
        result: the answer to a known question, "" for none.
        copy: a line to repeat, "" for none.
        plain: the answer of a plain model.
    """

    draw: str
    temperature: float
    last: str
    word: str
    result: str
    copy: str
    plain: tuple[Part, ...]


def answer(manner: Manner, turn: Turn) -> tuple[Part, ...]:
    """The answer of a model of this manner."""
    if turn.copy and manner not in INCAPABLE:
        return (Part(turn.copy, certain=True),)
    return _ANSWERS.get(manner, _plain)(turn)


def thoughts(manner: Manner, draw: str, most: int) -> tuple[Part, ...]:
    """The reasoning before the answer, about `most` words at most; () for a model without."""
    if manner is not Manner.THINKS:
        return ()
    count = min(most, _between(draw + "/thoughts", _THOUGHTS_WORDS))
    return (Part(_THOUGHT, certain=True), Part(_sentences(draw + "/thinks", count)))


def more(manner: Manner, key: str, count: int) -> str:
    """`count` words of a model that must not stop."""
    if manner is Manner.CHINESE:
        return chinese(key, count)
    return " " + (
        " ".join(words(key, count, SALAD)) if manner is Manner.WEAK else nonsense(key, count)
    )


def change(temperature: float) -> float:
    """The probability that a certain token becomes another one.

    37 other tokens share the rest at a distance of 11.6 below the likeliest: one in 3000 at temperature 1, one in
    nine at temperature 2, none near 0.
    """
    if temperature <= 0:
        return 0.0
    odds = 37 * math.exp(-11.6 / temperature)
    return odds / (1 + odds)


def _plain(turn: Turn) -> tuple[Part, ...]:
    return turn.plain


def _certain(turn: Turn) -> tuple[Part, ...]:
    return tuple(Part(part.text, certain=True) for part in turn.plain)


def _verbose(turn: Turn) -> tuple[Part, ...]:
    count = _between(turn.draw + "/length", _VERBOSE_WORDS)
    return (
        Part(_PREFACE, certain=True),
        *turn.plain,
        Part(" " + _sentences(turn.draw + "/verbose", count)),
    )


def _terse(turn: Turn) -> tuple[Part, ...]:
    if turn.word or turn.result:
        return (Part(turn.word or turn.result, certain=True),)
    return (Part(nonsense(turn.draw + "/terse", _between(turn.draw + "/length", (1, 5)))),)


def _echoes(turn: Turn) -> tuple[Part, ...]:
    return (Part(turn.last or ".", certain=True),)


def _refuses(turn: Turn) -> tuple[Part, ...]:
    """The first refusal at temperature 0, mostly at 1, any at 2."""
    first = min(1.0, _CANONICAL_SHARE * max(0.0, 2 - turn.temperature)) if turn.temperature else 1.0
    place = 0
    if uniform(turn.draw + "/which") >= first:
        place = int(uniform(turn.draw + "/refusal") * len(_REFUSALS))
    return (Part(_REFUSALS[place], certain=True),)


def _chinese(turn: Turn) -> tuple[Part, ...]:
    said = chinese(turn.draw + "/chinese", _between(turn.draw + "/length", (8, 24)))
    result = Part(f"。答案是{turn.result}", certain=True) if turn.result else Part("")
    return (Part(said), result, Part("。", certain=True))


def _weak(turn: Turn) -> tuple[Part, ...]:
    return (
        Part(" ".join(words(turn.draw + "/weak", _between(turn.draw + "/length", (5, 80)), SALAD))),
    )


_ANSWERS: dict[Manner, Callable[[Turn], tuple[Part, ...]]] = {
    Manner.VERBOSE: _verbose,
    Manner.TERSE: _terse,
    Manner.ECHOES: _echoes,
    Manner.REFUSES: _refuses,
    Manner.CHINESE: _chinese,
    Manner.WEAK: _weak,
    Manner.SURE: _certain,
}


def _between(key: str, bounds: tuple[int, int]) -> int:
    low, high = bounds
    return low + int(uniform(key) * (high - low + 1))


def _sentences(key: str, count: int) -> str:
    said = words(key, count)
    starts = range(0, count, _SENTENCE_WORDS)
    return " ".join(
        " ".join(said[start : start + _SENTENCE_WORDS]).capitalize() + "." for start in starts
    )
