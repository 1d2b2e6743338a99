"""The distance of a server from its reference, with intervals over prompts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from healthcheck.core.records import JsonValue
from healthcheck.extensions.numerics.records import Step
from healthcheck.stages.probe.statistics.intervals import LEVEL, Interval, percentile

SAME_KL = 0.02
"""Nats per token; rounding stays below it."""
GARBAGE_KL = 0.5
"""Nats per token; above it, the server writes another text."""
LEAST_PROMPTS = 8
"""Prompts for an interval that can be trusted."""
LIKE_ROUNDING = 1.5
"""In multiples of the shift of bfloat16 on the same weights; a healthy server in bfloat16 is at 1."""
_RESAMPLES = 1000
"""Draws of the bootstrap."""
Group = Sequence[Step]
"""The steps of one prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The shift of a server from its reference.

    A divergence is that of Kullback and Leibler, of the reference against this server, in nats per token. Intervals
    have a level of 95 % and are from a bootstrap over prompts.

    Attributes:
        prompts: number of prompts.
        tokens: number of compared tokens, of all prompts together.
        mean_kl: mean divergence: first the mean of each prompt, then their mean, so that each prompt has the same
            weight.
        mean_kl_interval: the interval of `mean_kl`.
        kl_99: 99th percentile of the divergence; each token has the same weight.
        times_rounding: sum of the divergences, divided by the sum of those of bfloat16 on the same
            weights, over the tokens that were also computed in bfloat16. A prompt weighs as much as
            bfloat16 moves it. None if no token was, or bfloat16 moves none.
        times_rounding_interval: the interval of `times_rounding`; None if that is None.
        agreement: share of tokens for which both have the same first choice; each token has the
            same weight.
        perplexity_ratio: perplexity of the reference's tokens on this server, divided by that on
            the reference; each token has the same weight.
    """

    prompts: int
    tokens: int
    mean_kl: float
    mean_kl_interval: Interval
    kl_99: float
    times_rounding: float | None
    times_rounding_interval: Interval | None
    agreement: float
    perplexity_ratio: float


def shift_of(steps: Sequence[Step], seed: int) -> Shift:
    """Summarise the steps, at least one; `seed` is that of the bootstrap."""
    prompts: dict[int, list[Step]] = {}
    for step in steps:
        prompts.setdefault(step.prompt, []).append(step)
    groups = list(prompts.values())
    rounded = [group for group in groups if _sum_of_rounding(group) > 0]
    return Shift(
        prompts=len(groups),
        tokens=len(steps),
        mean_kl=_mean_kl(groups),
        mean_kl_interval=_bootstrap(groups, _mean_kl, seed),
        kl_99=_nearest_rank([step.kl for step in steps], 0.99),
        times_rounding=_times_rounding(rounded) if rounded else None,
        times_rounding_interval=_bootstrap(rounded, _times_rounding, seed) if rounded else None,
        agreement=fmean([step.agrees for step in steps]),
        perplexity_ratio=math.exp(fmean([step.lost for step in steps])),
    )


def figures(shift: Shift) -> dict[str, JsonValue]:
    """The figures for a report."""
    found: dict[str, JsonValue] = {
        "tokens": shift.tokens,
        "prompts": shift.prompts,
        "mean KL": round(shift.mean_kl, 7),
        "mean KL, 95 %": [
            round(shift.mean_kl_interval.low, 7),
            round(shift.mean_kl_interval.high, 7),
        ],
        "KL, 99th percentile": round(shift.kl_99, 7),
        "first choices agree": round(shift.agreement, 4),
        "perplexity, times the reference's": round(shift.perplexity_ratio, 4),
    }
    interval = shift.times_rounding_interval
    if shift.times_rounding is not None and interval is not None:
        found["times bfloat16's rounding"] = round(shift.times_rounding, 2)
        found["times bfloat16's rounding, 95 %"] = [round(interval.low, 2), round(interval.high, 2)]
    return found


def _bootstrap(
    groups: Sequence[Group], value: Callable[[Sequence[Group]], float], seed: int
) -> Interval:
    """The interval of a value over prompts, which are drawn with replacement."""
    draw = random.Random(seed)
    values = sorted(value(draw.choices(groups, k=len(groups))) for _ in range(_RESAMPLES))
    tail = (1 - LEVEL) / 2
    low, high = percentile(values, tail), percentile(values, 1 - tail)
    return Interval(low=low, high=high, level=LEVEL, method="bootstrap percentile")


def _nearest_rank(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed.

    The percentile of the bootstrap interpolates. Here, few tokens have large divergences, and a value between two
    of them was never measured.
    """
    return sorted(values)[math.ceil(share * len(values)) - 1]


def _mean_kl(groups: Sequence[Group]) -> float:
    return fmean([fmean([step.kl for step in group]) for group in groups])


def _times_rounding(groups: Sequence[Group]) -> float:
    moved = math.fsum(step.kl for group in groups for step in group if step.rounding is not None)
    return moved / math.fsum(map(_sum_of_rounding, groups))


def _sum_of_rounding(group: Group) -> float:
    return math.fsum(step.rounding for step in group if step.rounding is not None)
