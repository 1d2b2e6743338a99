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

SAME_KL, GARBAGE_KL = 0.02, 0.5
"""Nats. Rounding stays below the first; above the second the text is a different one."""
LEAST_PROMPTS = 8
LIKE_ROUNDING = 1.5
"""In multiples of the shift of bfloat16 on the same weights; a healthy server in bfloat16 is at 1."""
_RESAMPLES = 1000
Group = Sequence[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The shift of a server from its reference. Intervals are from a bootstrap over prompts.

    Attributes:
        kl: mean Kullback-Leibler divergence per token in nats, each prompt with the same weight.
        kl_99: its 99th percentile over tokens.
        times: mean divergence in multiples of that of bfloat16 on the same weights; None if unknown.
        agreement: share of tokens at which both have the same first choice.
        perplexity: of the reference's tokens here, divided by that on the reference.
    """

    prompts: int
    tokens: int
    mean_kl: float
    kl: Interval
    kl_99: float
    times: float | None
    times_interval: Interval | None
    agreement: float
    perplexity: float


def shift_of(steps: Sequence[Step], seed: int) -> Shift:
    """Summarise the steps, at least one."""
    prompts: dict[int, list[Step]] = {}
    for step in steps:
        prompts.setdefault(step.prompt, []).append(step)
    groups = list(prompts.values())
    rounded = [group for group in groups if _sum_of_rounding(group) > 0]
    return Shift(
        prompts=len(groups),
        tokens=len(steps),
        mean_kl=_mean_kl(groups),
        kl=_bootstrap(groups, _mean_kl, seed),
        kl_99=sorted(step.kl for step in steps)[math.ceil(0.99 * len(steps)) - 1],
        times=_times(rounded) if rounded else None,
        times_interval=_bootstrap(rounded, _times, seed) if rounded else None,
        agreement=fmean([step.agrees for step in steps]),
        perplexity=math.exp(fmean([step.lost for step in steps])),
    )


def figures(shift: Shift) -> dict[str, JsonValue]:
    """The figures for a report."""
    found: dict[str, JsonValue] = {
        "tokens": shift.tokens,
        "prompts": shift.prompts,
        "mean KL": round(shift.mean_kl, 7),
        "mean KL, 95 %": [round(shift.kl.low, 7), round(shift.kl.high, 7)],
        "KL, 99th percentile": round(shift.kl_99, 7),
        "first choices agree": round(shift.agreement, 4),
        "perplexity, times the reference's": round(shift.perplexity, 4),
    }
    if shift.times is not None and shift.times_interval is not None:
        found["times bfloat16's rounding"] = round(shift.times, 2)
        interval = shift.times_interval
        found["times bfloat16's rounding, 95 %"] = [round(interval.low, 2), round(interval.high, 2)]
    return found


def _bootstrap(
    groups: Sequence[Group], value: Callable[[Sequence[Group]], float], seed: int
) -> Interval:
    draw = random.Random(seed)
    values = sorted(value(draw.choices(groups, k=len(groups))) for _ in range(_RESAMPLES))
    tail = (1 - LEVEL) / 2
    low, high = percentile(values, tail), percentile(values, 1 - tail)
    return Interval(low=low, high=high, level=LEVEL, method="bootstrap percentile")


def _mean_kl(groups: Sequence[Group]) -> float:
    return fmean([fmean([step.kl for step in group]) for group in groups])


def _times(groups: Sequence[Group]) -> float:
    moved = math.fsum(step.kl for group in groups for step in group if step.rounding is not None)
    return moved / math.fsum(map(_sum_of_rounding, groups))


def _sum_of_rounding(group: Group) -> float:
    return math.fsum(step.rounding for step in group if step.rounding is not None)
