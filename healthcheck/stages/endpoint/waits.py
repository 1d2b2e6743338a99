"""Time limits for answers: long for the first, then derived from the server's earlier times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from healthcheck.stages.endpoint.answers import answered, counted_tokens, token_limit
from healthcheck.wire.client import Exchange, Limits

FIRST = Limits(
    connect_s=20,
    first_event_s=120,
    between_events_s=45,
    total_s=300,
    max_bytes=8 * 2**20,
    max_events=10_000,
)
"""For an unknown server: its first answer may compile kernels."""
DEAF_S = 20.0
"""For the first chat, if the model list got no response."""
LEAST_S = 30.0
"""The longest stall of the machine: a server that was quick so far may take this long once."""
NEW_SHAPE_S = 50.0
"""The same limit if a batch or a prompt of a new size may compile kernels."""
MOST_S = 900.0
_MARGIN = 1.5


def learnt(
    limits: Limits, exchanges: Sequence[Exchange], *, queued_tokens: int, least_s: float
) -> Limits:
    """Limits for requests that may have to wait for others.

    Args:
        limits: those of the first request.
        exchanges: concurrent answers, or one that had the server to itself.
        queued_tokens: how many tokens the server may have to generate before the last request's turn.
        least_s: the shortest wait for a first text; at most that of `limits`.
    """
    whole = [exchange for exchange in exchanges if answered(exchange)]
    each_s = max((e.seconds for e in whole), default=0.0) / max(1, sum(map(_made, whole)))
    prompt_s = max((e.arrivals_s[0] for e in whole if e.arrivals_s), default=0.0)
    return _waiting(
        limits, min(limits.first_event_s, least_s), _MARGIN * (each_s * queued_tokens + prompt_s)
    )


def longer_prompt(limits: Limits, exchange: Exchange, times: float) -> Limits:
    """Limits for a prompt `times` as long as that of the exchange; attention may grow with the square."""
    return _waiting(
        limits,
        limits.first_event_s,
        times**2 * (exchange.arrivals_s[0] if exchange.arrivals_s else 0),
    )


def _waiting(limits: Limits, least_s: float, first_s: float) -> Limits:
    wait_s = min(MOST_S, max(least_s, first_s))
    pause_s = max(
        limits.between_events_s, wait_s
    )  # another request's long prompt also delays a stream
    return replace(
        limits,
        first_event_s=wait_s,
        between_events_s=pause_s,
        total_s=max(limits.total_s, 2 * wait_s),
    )


def tokens_per_second(exchange: Exchange) -> float:
    """The speed of one stream; infinite if it was too quick to measure."""
    return _made(exchange) / exchange.seconds if exchange.seconds > 0 else float("inf")


def _made(exchange: Exchange) -> int:
    """The tokens of an answer, at most max_tokens."""
    counted = counted_tokens(exchange)
    return min(counted, token_limit(exchange)) if token_limit(exchange) else counted
