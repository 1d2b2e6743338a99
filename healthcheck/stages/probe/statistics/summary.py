"""Computes the figures of a run from its matrix: every metric, overall and per tier, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from healthcheck.stages.probe.statistics.counting import (
    Matrix,
    cons_at_k,
    counts_of,
    hard,
    pass_at_k,
)
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, THIS_BANK, Estimate, Summary
from healthcheck.stages.probe.statistics.intervals import Interval, by_problem, wilson
from healthcheck.stages.probe.statistics.voting import (
    Answers,
    agreement,
    first_of_most,
    maj_at_n,
    wrong_consensus,
)
from healthcheck.text.messages import msg

ALL = "all"
Scores = Sequence[Sequence[float]]


def summarize(
    matrix: Matrix, *, scores: Scores | None = None, tier: str = ALL, tiers: Sequence[str] = ()
) -> Summary:
    """The figures of a set of problems.

    Args:
        matrix: correctness, problem-major, N × n; rows may differ in length, then k goes up to the shortest. Empty
            rows are refused: a problem without samples has to count as a failure.
        scores: soft scores of the same shape, if the task has them; else correctness is the score.
        tier: the name of this set.
        tiers: the tier of each problem; empty if there are none.

    Raises:
        ValueError: a row is empty, or the shapes differ.
    """
    if any(not row for row in matrix):
        raise ValueError(
            "a problem without samples: count its failed requests as wrong, or leave it out by name"
        )
    soft = matrix if scores is None else scores
    if [len(row) for row in soft] != [len(row) for row in matrix]:
        raise ValueError("scores and correctness differ in shape")
    repeats = min((len(row) for row in matrix), default=0)
    samples = sum(len(row) for row in matrix)
    return Summary(
        tier=tier,
        problems=len(matrix),
        samples=samples,
        correct=sum(map(sum, matrix)),
        repeats=repeats,
        estimates=_estimates(matrix, soft, repeats, tiers) if matrix else (),
    )


def summarize_scores(scores: Scores) -> Summary:
    """The figures of soft scores: soft accuracy, and correctness if a score is strictly above one half."""
    return summarize(hard(scores), scores=scores)


def per_problem(name: str, values: Sequence[float], interval: Interval, samples: int) -> Estimate:
    """The estimate of a metric with one value in [0, 1] per problem."""
    mean = math.fsum(values) / len(values)
    return interval.of(name, mean, LIKE_THESE, problems=len(values), samples=samples)


def summarize_votes(
    matrix: Matrix, answers: Sequence[Answers], tiers: Sequence[str] = ()
) -> tuple[Estimate, ...]:
    """maj@n, agreement@n and the rate of wrong consensus, from the extracted answers.

    maj@n requires less than cons@n: with two right samples of five and three different wrong ones, cons is 0 and
    maj is 1.

    Args:
        matrix: correctness, problem-major, N × n.
        answers: the extracted answers, same shape; None if nothing could be extracted.
        tiers: the tier of each problem; empty if there are none.
    """
    if not matrix:
        return ()
    n, pairs = len(matrix[0]), list(zip(answers, matrix, strict=True))
    figures = (
        (f"maj@{n}", [maj_at_n(said, right) for said, right in pairs]),
        (f"maj@{n} (first)", [first_of_most(said, right) for said, right in pairs]),
        (f"agreement@{n}", [agreement(said) for said, _ in pairs]),
        (msg("wrong consensus"), [float(wrong_consensus(said, right)) for said, right in pairs]),
    )
    samples = sum(map(len, matrix))
    return tuple(
        per_problem(name, values, by_problem(values, tiers), samples) for name, values in figures
    )


def accuracy_name(repeats: int) -> str:
    """The service's own name for the score averaged over runs."""
    return "accuracy" if repeats == 1 else f"accuracy ({repeats} runs average)"


def _estimates(
    matrix: Matrix, soft: Scores, repeats: int, tiers: Sequence[str]
) -> tuple[Estimate, ...]:
    counts = counts_of(matrix)
    samples = sum(n for n, _ in counts)
    means = (
        (accuracy_name(repeats), [sum(row) / len(row) for row in soft]),
        (f"avg@{repeats}", [right / n for n, right in counts]),
    )
    by_k = tuple(
        (f"{name}{k}", [metric(n, c, k) for n, c in counts])
        for name, metric in (("pass@", pass_at_k), ("cons@", cons_at_k))
        for k in range(1, repeats + 1)
    )
    named = (*means, *by_k)
    estimates = [
        per_problem(name, values, by_problem(values, tiers), samples) for name, values in named
    ]
    estimates += [_again(name, values, [n for n, _ in counts]) for name, values in means]
    return tuple(estimates)


def _again(name: str, values: Sequence[float], repeats: Sequence[int]) -> Estimate:
    """An estimate for the same problems sampled again, with equal weights: unequal n_i count as N² / sum(1/n_i)."""
    trials = len(values) ** 2 / sum(1 / n for n in repeats)
    interval = wilson(math.fsum(values) / len(values) * trials, trials)
    return replace(per_problem(name, values, interval, sum(repeats)), question=THIS_BANK)
