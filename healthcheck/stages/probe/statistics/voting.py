"""Metrics of one problem from the answers themselves: votes, agreement, the best by a score.

An answer that could not be extracted is None: it never votes, but counts among the n samples.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

Answers = Sequence[str | None]
_Classes = tuple[tuple[int, float], ...]


def maj_at_k(answers: Answers, correct: Sequence[int], k: int) -> float:
    """P(the most frequent answer among k of the n samples is right), ties broken at random, by expectation.

    Over all k-subsets: (number of right modes) / (number of modes), 0 without votes. For each height t of the mode,
    a table over (samples taken, number of modes) counts the subsets, one answer class after another.
    """
    _check(answers, correct, k)
    return _by_k(_classes(answers, correct), len(answers))[k - 1][0]


def agreement_at_k(answers: Answers, k: int) -> float:
    """The expected share of the modal answer, right or wrong, among k of the n samples."""
    _check(answers, [0] * len(answers), k)
    if k == len(answers):
        return max(Counter(answer for answer in answers if answer is not None).values(), default=0) / k
    return _by_k(_classes(answers, [0] * len(answers)), len(answers))[k - 1][1]


def wrong_consensus(answers: Answers, correct: Sequence[int]) -> int:
    """1 if more than half of the samples give the same wrong answer: a systematic error, not noise."""
    wrong = Counter(a for a, right in zip(answers, correct, strict=True) if a is not None and not right)
    return int(2 * max(wrong.values(), default=0) > len(answers))


def best_at_k(ranks: Sequence[float], correct: Sequence[int], k: int) -> float:
    """P(the highest-ranked sample among k of the n is right), ties broken at random.

    A group of g equal ranks with a better samples before it decides C(n-a, k) - C(n-a-g, k) of the C(n, k) subsets.
    """
    _check(ranks, correct, k)
    n, above, total = len(ranks), 0, 0.0
    groups: defaultdict[float, list[int]] = defaultdict(list)
    for rank, right in zip(ranks, correct, strict=True):
        groups[rank].append(right)
    for rank in sorted(groups, reverse=True):
        group = groups[rank]
        decided = math.comb(n - above, k) - math.comb(n - above - len(group), k)
        total += decided * sum(group) / len(group)
        above += len(group)
    return total / math.comb(n, k)


@lru_cache(maxsize=2**13)
def _by_k(classes: _Classes, n: int) -> tuple[tuple[float, float], ...]:
    """For k from 1 to n, over all k-subsets: P(the mode is right), and the mean share of the mode.

    Cached, since a run has many problems but few patterns in which n answers agree.
    """
    silent = n - sum(size for size, _ in classes)
    totals = [[0.0, 0.0] for _ in range(n + 1)]
    for height in range(1, max((size for size, _ in classes), default=0) + 1):
        for (taken, modes), (ways, right) in _tables(classes, height).items():
            for k in range(taken, taken + silent + 1) if modes else ():
                rest = math.comb(silent, k - taken)
                totals[k][0] += right / modes * rest
                totals[k][1] += height / k * ways * rest
    return tuple((totals[k][0] / math.comb(n, k), totals[k][1] / math.comb(n, k)) for k in range(1, n + 1))


def _classes(answers: Answers, correct: Sequence[int]) -> _Classes:
    """The size of each class of equal answers, and the share that was graded correct; sorted."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for answer, right in zip(answers, correct, strict=True):
        if answer is not None:
            groups[answer].append(right)
    return tuple(sorted((len(group), sum(group) / len(group)) for group in groups.values()))


def _tables(classes: _Classes, height: int) -> dict[tuple[int, int], tuple[float, float]]:
    """By (samples taken, classes at this height): ways, and ways times the number of right classes among those."""
    tables: dict[tuple[int, int], tuple[float, float]] = {(0, 0): (1, 0.0)}
    for size, right in classes:
        following: defaultdict[tuple[int, int], tuple[float, float]] = defaultdict(lambda: (0, 0.0))
        for (taken, modes), (ways, rights) in tables.items():
            for chosen in range(min(size, height) + 1):
                at_height = chosen == height
                place = (taken + chosen, modes + at_height)
                many = math.comb(size, chosen)
                old_ways, old_rights = following[place]
                new_rights = rights + right * ways if at_height else rights
                following[place] = (old_ways + many * ways, old_rights + many * new_rights)
        tables = dict(following)
    return tables


def _check(values: Sequence[object], correct: Sequence[int], k: int) -> None:
    if len(values) != len(correct) or not 1 <= k <= len(values):
        raise ValueError(
            f"needs as many answers as grades, and 1 <= k <= n; got {len(values)}, {len(correct)}, k={k}"
        )
