"""How the pieces of an answer arrived: by and by, or all at once."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from itertools import pairwise

from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.streams import every_stream
from healthcheck.wire.client import Exchange

MEASURABLE_S = 0.4
_TELLING_EVENTS = 8
_BURST_SHARE = 0.05
_SLOW_S = 1.0


class Shape(enum.Enum):
    """A stream in time. TORN: all at once but for one pause, which a busy machine may have made."""

    STEADY = "steady"
    TORN = "torn"
    BURST = "burst"


def shape(exchange: Exchange | None) -> Shape | None:
    """How a stream arrived; None where it was too quick, or of too few events, to tell."""
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
    """Those of all streams that tell one."""
    return frozenset(found for exchange in every_stream(interview) if (found := shape(exchange)))


def doubtful(interview: Interview) -> bool:
    """Whether the long answer looks like a burst, and the others do not tell whether it was one."""
    long = interview.long
    if long is None or long.completion is None or Shape.STEADY in shapes(interview) or bursts(interview):
        return False
    return long.completion.deltas == 1 or shape(long) is not None


def bursts(interview: Interview) -> tuple[Exchange, ...]:
    """The streams that show a server to hold its text back; () where none do.

    A process that gets no processor for seconds reads all at once what came meanwhile, and so makes one burst of a
    good stream: it takes two, one after the other, and all but one of those that were alone. Two long ones count
    where the wait grew with their length.
    """
    if Shape.STEADY in shapes(interview):
        return ()
    after = (interview.after_abandoned, interview.after_malformed, interview.to_the_end)
    alone = [each for each in (interview.opening.exchange, *interview.streams, *after) if _has_pieces(each)]
    held_back = _bursts(alone)
    if len(held_back) > 1 and len(held_back) >= len(alone) - 1:
        return held_back
    both = _bursts(_long_waits(interview))
    return both if len(both) > 1 else ()


def unclear(interview: Interview) -> bool:
    """Whether no stream came by and by, and two long answers came late in one piece or two, but not both in one."""
    return Shape.STEADY not in shapes(interview) and len(_long_waits(interview)) > 1 and not bursts(interview)


def _long_waits(interview: Interview) -> tuple[Exchange, ...]:
    """Those of the two long answers that came later than a short one on a busy machine does."""
    shorter = (interview.limited, *interview.streams)
    short_s = min((each.arrivals_s[0] for each in shorter if each and each.arrivals_s), default=0.0)
    late_s = max(_SLOW_S, 3 * short_s)
    both = (interview.long, interview.again)
    return tuple(each for each in both if each and shape(each) and each.arrivals_s[-1] > late_s)


def _has_pieces(exchange: Exchange | None) -> bool:
    completion = exchange.completion if exchange else None
    return completion is not None and completion.deltas >= _TELLING_EVENTS


def _bursts(exchanges: Iterable[Exchange | None]) -> tuple[Exchange, ...]:
    return tuple(exchange for exchange in exchanges if exchange and shape(exchange) is Shape.BURST)
