"""Percentile bootstrap intervals over problems, as in many papers, for comparison with other reports."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from healthcheck.stages.probe.statistics.intervals import LEVEL, Interval, percentile


def bootstrap(values: Sequence[float], *, seed: int, resamples: int = 1000) -> Interval:
    """The percentile bootstrap, seeded.

    It is too narrow for few problems, and [1, 1] if all agree; `by_problem` is the probe's own interval.
    """
    draw = random.Random(seed)
    size = len(values)
    means = sorted(math.fsum(draw.choices(values, k=size)) / size for _ in range(resamples))
    tail = (1 - LEVEL) / 2
    return Interval(
        low=percentile(means, tail), high=percentile(means, 1 - tail), level=LEVEL, method="bootstrap percentile"
    )
