"""Votes that weigh: worked examples, brute force, and simulations of what the weights promise."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.extensions.lab.weighted_votes import best_at_k, figures_by_score, weighted_maj_at_k
from healthcheck.stages.probe.statistics.voting import maj_at_n

GOLD = "42"
REPLICATES = 4000
answers = st.lists(st.sampled_from(["42", "43", "7", None]), min_size=1, max_size=6)


def graded(said: list[str | None]) -> list[int]:
    return [int(answer == GOLD) for answer in said]


def test_one_sure_answer_outweighs_two_doubtful_ones() -> None:
    said: list[str | None] = ["42", "7", "7"]
    assert maj_at_n(said, graded(said)) == 0.0
    assert weighted_maj_at_k(said, graded(said), [0.9, 0.4, 0.4], 3) == 1.0
    assert weighted_maj_at_k(said, graded(said), [0.8, 0.4, 0.4], 3) == 0.5  # a tie
    assert (
        weighted_maj_at_k(said, graded(said), [0.8, 0.1 + 0.2, 0.5], 3) == 0.5
    )  # a tie but for rounding


def test_what_weighs_nothing_or_says_nothing_never_leads() -> None:
    assert weighted_maj_at_k([None, "42"], [0, 1], [9.0, 0.1], 2) == 1.0
    assert weighted_maj_at_k(["42", "42"], [1, 1], [0.0, 0.0], 2) == 0.0
    assert weighted_maj_at_k([None], [0], [1.0], 1) == 0.0


@given(answers, st.floats(0.01, 100))
def test_equal_weights_are_the_plain_vote_of_every_subset(
    said: list[str | None], weight: float
) -> None:
    for k in range(1, len(said) + 1):
        votes = [maj_at_n(subset, graded([*subset])) for subset in combinations(said, k)]
        weighed = weighted_maj_at_k(said, graded(said), [weight] * len(said), k)
        assert weighed == pytest.approx(sum(votes) / len(votes))


@given(
    st.lists(
        st.tuples(st.sampled_from(["42", "43", "7"]), st.integers(1, 4)), min_size=1, max_size=6
    )
)
def test_whole_weights_are_as_many_votes(pairs: list[tuple[str, int]]) -> None:
    said = [answer for answer, _ in pairs]
    several = [answer for answer, weight in pairs for _ in range(weight)]
    k = len(said)
    weighed = weighted_maj_at_k(said, graded(said), [float(weight) for _, weight in pairs], k)
    assert weighed == pytest.approx(maj_at_n(several, graded(several)))


def test_003_best_of_three_picks_score_nine() -> None:
    assert best_at_k([7, 9, 0], [1, 1, 0], 3) == 1.0
    assert best_at_k([7, 9, 0], [1, 0, 0], 3) == 0.0


@given(
    st.lists(
        st.tuples(st.sampled_from([1.0, 2.0, 3.0, -0.5]), st.integers(0, 1)), min_size=1, max_size=7
    )
)
def test_best_is_the_mean_over_all_subsets(pairs: list[tuple[float, int]]) -> None:
    ranks, right = [rank for rank, _ in pairs], [c for _, c in pairs]
    for k in range(1, len(pairs) + 1):
        outcomes = []
        for subset in combinations(pairs, k):
            top = [c for rank, c in subset if rank == max(r for r, _ in subset)]
            outcomes.append(sum(top) / len(top))
        assert best_at_k(ranks, right, k) == pytest.approx(sum(outcomes) / len(outcomes))


def test_what_does_not_fit_is_refused() -> None:
    for said, right, weights, k in (
        (["1"], [1], [1.0], 2),
        (["1"], [1], [], 1),
        (["1"], [1], [-1.0], 1),
    ):
        with pytest.raises(ValueError, match="weight"):
            weighted_maj_at_k(said, right, weights, k)
    with pytest.raises(ValueError, match="1 <= k <= n"):
        best_at_k([1.0], [1], 2)
    with pytest.raises(ValueError, match="negative"):
        weighted_maj_at_k(["1"], [1], [math.nan], 1)


def test_negative_scores_rank_and_do_not_vote() -> None:
    names = [
        each.name
        for each in figures_by_score([[1, 0]], [["42", "7"]], [[-1.0, -2.0]], name="score")
    ]
    assert names == ["best@1 (score)", "best@2 (score)"]
    with_failure = figures_by_score([[1, 0]], [["42", None]], [[0.3, -math.inf]], name="score")
    assert [(each.name, each.value) for each in with_failure if "@2" in each.name] == [
        ("weighted maj@2 (score)", 1.0),
        ("best@2 (score)", 1.0),
    ]
    assert figures_by_score([], [], [], name="score") == ()


def test_of_many_samples_the_whole_vote_is_counted_alone() -> None:
    found = figures_by_score([[1] * 30], [["42"] * 30], [[1.0] * 30], name="score")
    assert [each.name for each in found if "maj" in each.name] == ["weighted maj@30 (score)"]


def sampled(draw: random.Random, n: int) -> tuple[list[str | None], list[float]]:
    """Samples of a model that is right in .4 and mostly sure where it is; three wrong answers share the rest."""
    said = [GOLD if draw.random() < 0.4 else draw.choice(["1", "2", "3"]) for _ in range(n)]
    weights = [
        draw.betavariate(6, 3) if answer == GOLD else draw.betavariate(3, 6) for answer in said
    ]
    return [*said], weights


def test_k_of_n_samples_tell_what_k_samples_would_have_given() -> None:
    draw = random.Random(4)
    told = fresh = 0.0
    for _ in range(REPLICATES):
        said, weights = sampled(draw, 6)
        told += weighted_maj_at_k(said, graded(said), weights, 3) / REPLICATES
        said, weights = sampled(draw, 3)
        fresh += weighted_maj_at_k(said, graded(said), weights, 3) / REPLICATES
    assert told == pytest.approx(fresh, abs=4 * math.sqrt(0.25 / REPLICATES))


def test_weights_that_know_something_win_over_plain_votes_and_those_that_do_not_lose() -> None:
    draw = random.Random(9)
    plain = knowing = blind = 0.0
    for _ in range(REPLICATES):
        said, weights = sampled(draw, 5)
        plain += maj_at_n(said, graded(said)) / REPLICATES
        knowing += weighted_maj_at_k(said, graded(said), weights, 5) / REPLICATES
        blind += weighted_maj_at_k(said, graded(said), draw.sample(weights, 5), 5) / REPLICATES
    assert knowing > plain + 0.05
    assert blind < plain
