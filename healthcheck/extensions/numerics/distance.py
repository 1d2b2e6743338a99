"""The distance between two readings. Only tokens that both name are compared: the rest is unknown."""

from __future__ import annotations

import math

from healthcheck.extensions.numerics.records import Difference, Position, Reading

LEAST_LOGPROB = math.log(0.02)
"""Rarer tokens are left out: rounding moves them most, and a completion hardly ever has them."""


def difference(one: Reading, other: Reading) -> Difference:
    """Compare position by position, up to the first with another token: later positions have another prompt."""
    shift = flip = 0.0
    diverged = False
    for here, there in zip(one.positions, other.positions, strict=False):
        shift = max(shift, _shift(here, there), _shift(there, here))
        if here.token != there.token:
            flip, diverged = _lead(here, there.token), True
            break
    else:
        diverged = len(one.positions) != len(other.positions)
    return Difference(shift=shift, flip=flip, diverged=diverged)


def divergence(here: Position, there: Position) -> float:
    """KL(here || there) in nats. A token that only `here` names has at most the last log-probability of `there`.

    All tokens that neither names count as one token, so that the value is a lower bound.
    """
    least = min(there.top.values(), default=0.0)
    known = sum(
        math.exp(logprob) * (logprob - there.top.get(token, least))
        for token, logprob in here.top.items()
    )
    rest = 1 - sum(map(math.exp, here.top.values()))
    their_rest = 1 - sum(math.exp(there.top.get(token, least)) for token in here.top)
    if rest > 1e-6 and their_rest > 1e-6:
        known += rest * math.log(rest / their_rest)
    return max(known, 0.0)


def behind(place: Position) -> float:
    """How much likelier the likeliest token was than the chosen one, in nats; 0 if the server does not say."""
    return max(place.top.values()) - place.top[place.token] if place.token in place.top else 0.0


def _shift(here: Position, there: Position) -> float:
    least = min(there.top.values(), default=0.0)
    moved = [0.0]
    for token, logprob in here.top.items():
        if logprob >= LEAST_LOGPROB:
            moved.append(abs(logprob - there.top[token]) if token in there.top else logprob - least)
    return max(moved)


def _lead(here: Position, token: str) -> float:
    """How much likelier the token of `here` was there than the other token."""
    top = max(here.top.values(), default=0.0)
    return top - here.top.get(token, min(here.top.values(), default=top))
