"""AISBench's figures, digit for digit, from a matrix of correctness.

avg@n and accuracy are correct. pass@n and cons@n are not: AISBench zips its details, ordered by replica, with its
data set, ordered by problem, so that one of its "problems" is n samples of n different problems. Whatever the
model, its pass@n then tends to 1 - (1 - p)^n.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce

from healthcheck.stages.probe.statistics.counting import Matrix

_BLOCK = 128
_UNROLLED = 8


def client_groups(matrix: Matrix) -> tuple[tuple[int, ...], ...]:
    """The groups over which AISBench computes pass@n and cons@n: N × n samples ordered by replica, n at a time.

    So the first group has one sample of each of the first n problems.

    Raises:
        ValueError: rows of different length.
    """
    n = _repeats(matrix)
    flat = [row[j] for j in range(n) for row in matrix]
    return tuple(tuple(flat[start : start + n]) for start in range(0, len(flat), n)) if n else ()


def client_results(
    matrix: Matrix, scores: Sequence[Sequence[float]] | None = None
) -> dict[str, float]:
    """The `results` of AISBench: percent, full floats, its names, its order.

    Args:
        matrix: correctness, N × n, problem-major, samples of a problem in the order of the predictions file; a
            failed request is a wrong sample.
        scores: soft scores, if the task has them; the accuracy uses them, everything else uses correctness.

    Raises:
        ValueError: no problem, or rows of different length.
    """
    n = _repeats(matrix)
    if not n:
        raise ValueError("AISBench writes no results where there is no prediction")
    soft: Sequence[Sequence[float]] = matrix if scores is None else scores
    replicas = [100 * _plain_sum([row[j] for row in soft]) / len(soft) for j in range(n)]
    if n == 1:
        return {"accuracy": mean(replicas)}
    counts = [sum(row) for row in client_groups(matrix)]
    return {
        f"accuracy ({n} runs average)": mean(replicas),
        f"avg@{n}": 100 * mean([c / n for c in counts]),
        f"pass@{n}": 100 * mean([float(c > 0) for c in counts]),
        f"cons@{n}": 100 * mean([float(c > n / 2) for c in counts]),
    }


def printed(results: Mapping[str, float]) -> dict[str, str]:
    """The results as the summary prints them: percent with two decimals."""
    return {name: f"{figure:.2f}" for name, figure in results.items()}


def mean(values: Sequence[float]) -> float:
    """numpy.mean of a list of floats, to the last bit."""
    return pairwise_sum(values) / len(values)


def pairwise_sum(values: Sequence[float]) -> float:
    """The pairwisesummation of numpy: below 8 one by one, up to 128 with eight accumulators, else by halves."""
    size = len(values)
    if size < _UNROLLED:
        return _plain_sum(values)
    if size > _BLOCK:
        half = size // 2
        half -= half % _UNROLLED
        return pairwise_sum(values[:half]) + pairwise_sum(values[half:])
    whole = size - size % _UNROLLED
    sums = [_plain_sum(values[place:whole:_UNROLLED]) for place in range(_UNROLLED)]
    total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + (
        (sums[4] + sums[5]) + (sums[6] + sums[7])
    )
    return _plain_sum([total, *values[whole:]])


def _plain_sum(values: Sequence[float]) -> float:
    """Sum one by one, as a loop in AISBench does; `sum` compensates from Python 3.12 on."""
    return reduce(operator.add, values, 0.0)


def _repeats(matrix: Matrix) -> int:
    lengths = {len(row) for row in matrix}
    if len(lengths) > 1:
        raise ValueError("AISBench fills every problem up to n samples: so must the matrix")
    return lengths.pop() if lengths else 0
