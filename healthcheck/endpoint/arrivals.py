"""How the chunks of an answer arrived: incrementally or all at once."""

from __future__ import annotations

import enum
from itertools import pairwise

from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.streams import every_stream
from healthcheck.wire.client import Exchange

MEASURABLE_S = 0.4
_TELLING_EVENTS = 8
_BURST_SHARE = 0.05
_LATER = 1.25
"""How much the waits for equally long answers may differ."""


class Shape(enum.Enum):
    """A stream in time. TORN: all at once but for one pause, which a busy machine may have made."""

    STEADY = "steady"
    TORN = "torn"
    BURST = "burst"


def shape(exchange: Exchange | None) -> Shape | None:
    """How a stream arrived; None if it was too quick, or of too few events, to tell."""
    if exchange is None or not _has_pieces(exchange):
        return None
    arrivals = exchange.arrivals_s
    if not arrivals or arrivals[-1] < MEASURABLE_S:
        return None
    first, last = arrivals[0], arrivals[-1]
    if last - first < _BURST_SHARE * last:
        return Shape.BURST
    pause = max(later - earlier for earlier, later in pairwise(arrivals))
    return Shape.TORN if last - first - pause < _BURST_SHARE * last else Shape.STEADY


def shapes(interview: Interview) -> frozenset[Shape]:
    """The arrivals of all streams that were long enough to judge."""
    return frozenset(found for exchange in every_stream(interview) if (found := shape(exchange)))


def doubtful(interview: Interview) -> bool:
    """Whether a long answer is to be asked again, twice and alone: it seemed to come all at once, as all did."""
    long = interview.long
    if long is None or long.completion is None or Shape.STEADY in shapes(interview):
        return False
    return (long.completion.deltas == 1 or shape(long) is not None) and _is_late(interview, long)


def bursts(interview: Interview) -> tuple[Exchange, ...]:
    """The long answers that prove that the server holds text back; () if none do.

    A first token may be late for any reason. A server that holds text back makes a long answer wait longer than a
    short one, for as long as it takes to write it. A process that gets no processor for seconds reads all at once
    what came meanwhile, and so makes one burst of a good stream: it takes two.
    """
    if Shape.STEADY in shapes(interview):
        return ()
    held = tuple(each for each in interview.again if _is_held_back(interview, each))
    return held if len(held) == len(interview.again) else ()


def unclear(interview: Interview) -> bool:
    """Whether no stream was incremental, and the long answers came late in one or two bursts, not both in one."""
    late = [each for each in interview.again if shape(each) and _is_late(interview, each)]
    return Shape.STEADY not in shapes(interview) and len(late) > 1 and not bursts(interview)


def _is_held_back(interview: Interview, exchange: Exchange) -> bool:
    arrivals = exchange.arrivals_s
    if not arrivals or not _has_pieces(exchange) or not _is_late(interview, exchange):
        return False
    return arrivals[-1] - arrivals[0] < _BURST_SHARE * (arrivals[-1] - _short_wait_s(interview))


def _is_late(interview: Interview, exchange: Exchange) -> bool:
    """Whether an answer ended later than a short one begins, by more than chance and a busy machine make."""
    short_s = _short_wait_s(interview)
    return bool(exchange.arrivals_s) and exchange.arrivals_s[-1] > _LATER * short_s + MEASURABLE_S


def _short_wait_s(interview: Interview) -> float:
    """The least wait for the first text of a short answer."""
    after = (interview.after_abandoned, interview.after_malformed)
    short = (interview.opening.exchange, *interview.streams, interview.limited, *after)
    return min((each.arrivals_s[0] for each in short if each and each.arrivals_s), default=0.0)


def _has_pieces(exchange: Exchange | None) -> bool:
    completion = exchange.completion if exchange else None
    return completion is not None and completion.deltas >= _TELLING_EVENTS
