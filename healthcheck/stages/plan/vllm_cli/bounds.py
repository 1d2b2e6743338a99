"""The limits of a number, and what is said of one beyond them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from healthcheck.text.messages import msg

Reason = tuple[str, str]
"""What was expected, and the repair."""
_BOUNDS: tuple[tuple[Callable[[float, float], bool], Callable[[float], str], int], ...] = (
    (operator.ge, lambda limit: msg("at least {limit:g}", limit=limit), 0),
    (operator.gt, lambda limit: msg("more than {limit:g}", limit=limit), 1),
    (operator.le, lambda limit: msg("at most {limit:g}", limit=limit), 0),
    (operator.lt, lambda limit: msg("less than {limit:g}", limit=limit), -1),
)
"""The limits in the order of `Option.range`: what holds, how it is said, and how far off a number is good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """A number that is refused: the limits in words, and a number that is not."""

    limits: str
    good: float


def outside(number: float, limits: tuple[float | None, ...]) -> Beyond | None:
    """What is said of a number beyond its limits; None within them, and without any."""
    bounds = [
        (*bound, limit) for bound, limit in zip(_BOUNDS, limits, strict=False) if limit is not None
    ]
    if all(holds(number, limit) for holds, _, _, limit in bounds):
        return None
    named = reduce(
        lambda low, high: msg("{low} and {high}", low=low, high=high),
        (says(limit) for _, says, _, limit in bounds),
    )
    _, _, step, limit = min(bounds, key=lambda bound: abs(bound[2]))
    return Beyond(limits=named, good=limit + step)
