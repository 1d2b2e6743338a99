"""Decides from arrival times whether an answer was streamed while it was generated, or held back.

A busy machine delays the engine, a proxy or this process, and thereby the first text of any answer, short or long.
A server that holds text back delays the first text of a long answer more than that of a short one. So steady
arrivals are evidence by themselves; late text is not: short and long answers in turn decide.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from healthcheck.stages.endpoint.answers import answered, counted_tokens
from healthcheck.stages.endpoint.records import Clocked, Interview, Turn
from healthcheck.stages.endpoint.streams import every_stream
from healthcheck.wire.client import Exchange

MEASURABLE_S = 0.4
PROVABLE_S, PROVABLE_TOKENS_PER_S = 2.0, 100
"""How much longer than a short answer a long one has to take, and how slow its tokens have to be, before late text
is a failure. A proxy that is slower than its engine may read a quick answer to its end before it writes on: LiteLLM
before a small model, at 170 to 220 tokens per second on two cores, does so in most.
"""
_TELLING_EVENTS = 8
_HELD_SHARE = 0.25
"""The share of an answer's time without text. A server that sends two bursts is silent for half of it."""
_LATER = 1.25
"""How much the waits for equally long answers may differ."""
_STEADY_STREAMS = 2
_TINY_S = 1e-3
TIMES = 4
"""So many answers with the engine's own times are compared."""
LEAST_TURNS = 4
"""By chance, the first texts of 4 long answers all take longer than those of 12 short ones once in 1,820 times."""


class Streaming(enum.Enum):
    """The judgement of the arrivals in an interview."""

    INCREMENTAL = "incremental"
    HELD_BACK = "held back"
    UNCLEAR = "unclear"
    TOO_QUICK = "too quick"
    BEHIND = "behind the engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Short and long answers requested in turn; medians, in seconds from the request.

    Attributes:
        short_s: until the first text of a short answer.
        first_s, last_s: until the first and the last text of a long one.
        least_s: how much longer the quickest long answer took than the quickest first text of a short one.
        tokens_per_s: of the quickest long answer, after that first text.
        apart: whether every long answer's first text took longer than every short one's.
    """

    short_s: float
    first_s: float
    last_s: float
    least_s: float
    tokens_per_s: float
    apart: bool

    @property
    def held_share(self) -> float | None:
        """The share of a long answer's extra time before its first text; None if there was hardly any."""
        whole_s = self.last_s - self.short_s
        return (self.first_s - self.short_s) / whole_s if whole_s >= MEASURABLE_S else None


def streaming(interview: Interview) -> Streaming:
    """Judge the streams of the interview, or else its turns; UNCLEAR if more turns are needed.

    Where arrivals alone prove nothing because the engine is fast, its own times may tell.
    """
    found = _by_arrivals(interview)
    return _by_clock(interview.clocked) if found is Streaming.TOO_QUICK else found


def _by_clock(answers: Sequence[Clocked]) -> Streaming:
    """Compare the arrival of each answer's first text with the engine's first and last token."""
    spans_s = [each.whole_s - each.first_s for each in answers]
    silent = any(not each.exchange.arrivals_s for each in answers)
    if len(answers) < TIMES or min(spans_s) < MEASURABLE_S or silent:
        return Streaming.TOO_QUICK
    late = [
        (each.exchange.arrivals_s[0] - each.first_s) / span_s
        for each, span_s in zip(answers, spans_s, strict=True)
    ]
    if min(late) > 1 - _HELD_SHARE:
        return Streaming.BEHIND
    return Streaming.INCREMENTAL if max(late) < _HELD_SHARE else Streaming.TOO_QUICK


def _by_arrivals(interview: Interview) -> Streaming:
    short_s = _short_wait_s(interview)
    if sum(_is_steady(each, short_s) for each in every_stream(interview)) >= _STEADY_STREAMS:
        return Streaming.INCREMENTAL
    if not _is_late(interview.long, short_s):
        return Streaming.TOO_QUICK
    compared = comparison(interview.turns)
    return (
        _by_turns(compared)
        if compared and len(interview.turns) >= LEAST_TURNS
        else Streaming.UNCLEAR
    )


def _by_turns(compared: Comparison) -> Streaming:
    if compared.held_share is not None and compared.held_share < _HELD_SHARE:
        return Streaming.INCREMENTAL
    if compared.least_s < PROVABLE_S or compared.tokens_per_s > PROVABLE_TOKENS_PER_S:
        return Streaming.TOO_QUICK
    return Streaming.HELD_BACK if compared.apart else Streaming.UNCLEAR


def comparison(turns: Sequence[Turn]) -> Comparison | None:
    """Compare the first texts of short and long answers; None if either kind had none."""
    short = [each.arrivals_s[0] for turn in turns for each in turn.short if each.arrivals_s]
    long = [turn.long for turn in turns if turn.long.arrivals_s]
    if not short or not long:
        return None
    first, last = [each.arrivals_s[0] for each in long], [each.arrivals_s[-1] for each in long]
    return Comparison(
        short_s=median(short),
        first_s=median(first),
        last_s=median(last),
        least_s=min(last) - min(short),
        tokens_per_s=max(
            _tokens(each) / max(each.arrivals_s[-1] - min(short), _TINY_S) for each in long
        ),
        apart=min(first) > max(short),
    )


def _tokens(answer: Exchange) -> int:
    """The server's token count, but no more than events: a wrapper may send each character separately."""
    return min(answer.folded.deltas, counted_tokens(answer))


def _is_steady(exchange: Exchange, short_s: float) -> bool:
    """Whether no silence made up much of an answer's time, apart from the wait of a short answer."""
    arrivals = exchange.arrivals_s
    if not _has_pieces(exchange) or not arrivals or arrivals[-1] - short_s < MEASURABLE_S:
        return False
    silence = max(later - earlier for earlier, later in pairwise((short_s, *arrivals)))
    return silence < _HELD_SHARE * (arrivals[-1] - short_s)


def _is_late(exchange: Exchange | None, short_s: float) -> bool:
    """Whether a long answer ended so much later than a short one begins that its text could have been held back."""
    if (
        exchange is None
        or not answered(exchange)
        or not exchange.arrivals_s
        or not _has_pieces(exchange)
    ):
        return False
    return exchange.arrivals_s[-1] > _LATER * short_s + MEASURABLE_S


def _short_wait_s(interview: Interview) -> float:
    """The shortest wait for the first text of a short answer before the turns."""
    short = (interview.opening.exchange, *interview.streams, interview.limited)
    return min((each.arrivals_s[0] for each in short if each and each.arrivals_s), default=0.0)


def _has_pieces(exchange: Exchange) -> bool:
    """Whether an answer has enough events to judge, or came in a single event."""
    return exchange.folded.deltas >= _TELLING_EVENTS or exchange.folded.deltas == 1
