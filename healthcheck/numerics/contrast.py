"""Whether different prompts have different log-probabilities: where they do not, no relation can show anything."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.numerics.distance import difference
from healthcheck.numerics.judgement import FAULT
from healthcheck.numerics.records import NumericsRun, Reading

LEAST_PROMPTS = 4
LEAST_APART = 0.5
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Different prompts, compared two by two.

    Attributes:
        apart: pairs of prompts whose answers differ as much as a fault would have to move them.
        same_values: all prompts have the same log-probabilities, whatever the tokens: uniform or made up.
        same_tokens: all prompts have the same answer.
        example: the log-probabilities of the first token of one prompt.
    """

    prompts: int
    pairs: int
    apart: int
    same_values: bool
    same_tokens: bool
    example: tuple[float, ...]


def contrast_of(run: NumericsRun) -> Contrast:
    """Compare each prompt with the next one, and all of them."""
    readings = [reading for _, reading in run.alone if not reading.error]
    found = [difference(one, other) for one, other in itertools.pairwise(readings)]
    first = readings[0].positions[0].top.values() if readings else ()
    return Contrast(
        prompts=len(readings),
        pairs=len(found),
        apart=sum(each.shift > FAULT if run.server.logprobs > 1 else each.diverged for each in found),
        same_values=bool(run.server.logprobs) and _alike([_values(reading) for reading in readings]),
        same_tokens=_alike([tuple(place.token for place in reading.positions) for reading in readings]),
        example=tuple(sorted(first, reverse=True)),
    )


def _values(reading: Reading) -> frozenset[tuple[float, ...]]:
    return frozenset(
        tuple(sorted(round(value, _DIGITS) for value in place.top.values())) for place in reading.positions
    )


def _alike(things: Sequence[object]) -> bool:
    return len(set(things)) <= 1
