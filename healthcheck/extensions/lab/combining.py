"""One score of several: their weighted sum, the first before the next, or ranks among a problem's samples."""

from __future__ import annotations

import enum
import operator
from collections.abc import Mapping, Sequence

Key = tuple[int, int]
"""The problem and the repeat of a sample."""


class Combine(enum.Enum):
    WEIGHTS = "weights"
    PRIORITY = "priority"
    PARETO = "pareto"


def combined(
    values: Mapping[Key, tuple[float, ...]], combine: Combine, weights: Sequence[float]
) -> dict[Key, float]:
    """A score for each sample; with PARETO the number of the problem's samples that do not dominate it."""
    if combine is Combine.WEIGHTS:
        return {key: sum(map(operator.mul, weights, each)) for key, each in values.items()}
    if combine is Combine.PRIORITY:
        ranks = {each: float(rank) for rank, each in enumerate(sorted(set(values.values())))}
        return {key: ranks[each] for key, each in values.items()}
    rows: dict[int, list[tuple[float, ...]]] = {}
    for (problem, _), each in values.items():
        rows.setdefault(problem, []).append(each)
    return {
        key: float(sum(not _dominates(other, each) for other in rows[key[0]]))
        for key, each in values.items()
    }


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether one is nowhere worse and somewhere better."""
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))
