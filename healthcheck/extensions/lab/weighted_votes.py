"""Weighted votes: the answer with the greatest sum of weights, while maj@n takes the one with the most samples.

With the likelihood of a sample, exp(mean token log-probability), it is the "weighted sum, normalized" of
Self-Consistency (Wang et al. 2022, table 1); with the score of a verifier it is weighted best-of-N (Li et al. 2022,
step-aware verifiers). maj@n is the case of equal weights; best@k takes the highest score without votes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from healthcheck.stages.probe.statistics.counting import Matrix
from healthcheck.stages.probe.statistics.estimates import Estimate
from healthcheck.stages.probe.statistics.intervals import by_problem
from healthcheck.stages.probe.statistics.summary import Scores, per_problem
from healthcheck.stages.probe.statistics.voting import Answers

MOST_SUBSETS = 8
"""Up to this many samples per problem, every k is counted over all subsets; with more, only k = n."""
_EQUAL = 1e-9
"""The difference between two sums of weights that counts as a tie, relative to the larger."""


def weighted_maj_at_k(
    answers: Answers, correct: Sequence[int], weights: Sequence[float], k: int
) -> float:
    """P(the answer with the greatest sum of weights among k of the n samples is right), ties broken at random.

    Over all k-subsets: (share of right among the leading answers) / (number of those). An answer whose weights sum
    to 0 never leads.

    Raises:
        ValueError: the shapes differ, k does not fit, or a weight is negative.
    """
    if not len(answers) == len(correct) == len(weights) or not 1 <= k <= len(answers):
        raise ValueError(f"needs a grade and a weight for each answer, and 1 <= k <= n, got k={k}")
    if any(not weight >= 0 for weight in weights):
        raise ValueError("a weight is negative")
    voters = list(zip(answers, correct, weights, strict=True))
    shares = _shares_right(answers, correct)
    return math.fsum(_leads(subset, shares) for subset in combinations(voters, k)) / math.comb(
        len(voters), k
    )


def best_at_k(ranks: Sequence[float], correct: Sequence[int], k: int) -> float:
    """P(the highest-ranked sample among k of the n is right), ties broken at random.

    A group of g equal ranks with a better samples before it decides C(n-a, k) - C(n-a-g, k) of the C(n, k) subsets.
    """
    if len(ranks) != len(correct) or not 1 <= k <= len(ranks):
        raise ValueError(
            f"needs as many ranks as grades, and 1 <= k <= n; got {len(ranks)}, {len(correct)}, k={k}"
        )
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


def figures_by_score(
    matrix: Matrix, answers: Sequence[Answers], scores: Scores, *, name: str
) -> tuple[Estimate, ...]:
    """Weighted maj@k and best@k by a score of each sample; the votes are omitted if a score is negative.

    Args:
        matrix: correctness, problem-major.
        answers: the extracted answers, same shape; None if nothing could be extracted.
        scores: same shape; higher is better, -inf for a sample that loses to every other.
        name: of the scores, part of the figures' names.
    """
    rows = list(zip(answers, matrix, scores, strict=True))
    if not rows:
        return ()
    least, most = min(map(len, matrix)), max(map(len, matrix))
    figures = []
    ks = range(1, least + 1)
    if all(score >= 0 or score == -math.inf for row in scores for score in row):
        counted = ks if most <= MOST_SUBSETS else [least] if least == most else []
        weighed = [(said, right, [max(score, 0.0) for score in row]) for said, right, row in rows]
        named = ((f"weighted maj@{k} ({name})", k) for k in counted)
        figures += [
            (figure, [weighted_maj_at_k(*row, k) for row in weighed]) for figure, k in named
        ]
    figures += [
        (f"best@{k} ({name})", [best_at_k(row, right, k) for _, right, row in rows]) for k in ks
    ]
    samples = sum(map(len, matrix))
    return tuple(
        per_problem(figure, values, by_problem(values), samples) for figure, values in figures
    )


def _shares_right(answers: Answers, correct: Sequence[int]) -> dict[str, float]:
    """The share of each answer's samples that was graded right: graders see more than the extracted text."""
    graded: defaultdict[str, list[int]] = defaultdict(list)
    for answer, right in zip(answers, correct, strict=True):
        if answer is not None:
            graded[answer].append(right)
    return {answer: sum(rights) / len(rights) for answer, rights in graded.items()}


def _leads(subset: Sequence[tuple[str | None, int, float]], shares: dict[str, float]) -> float:
    sums: defaultdict[str, float] = defaultdict(float)
    for answer, _, weight in subset:
        if answer is not None:
            sums[answer] += weight
    greatest = max(sums.values(), default=0.0)
    if greatest <= 0:
        return 0.0
    leaders = [answer for answer, total in sums.items() if total >= greatest * (1 - _EQUAL)]
    return sum(shares[answer] for answer in leaders) / len(leaders)
