"""Votes, agreement and the best by a score: worked examples and brute force over subsets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.statistics.counting import cons_at_k, pass_at_k
from healthcheck.stages.probe.statistics.summary import summarize_votes
from healthcheck.stages.probe.statistics.voting import agreement_at_k, best_at_k, maj_at_k, wrong_consensus

GOLD = "42"
answers = st.lists(st.sampled_from(["42", "43", "7", None]), min_size=1, max_size=7)


def graded(said: list[str | None]) -> list[int]:
    return [int(answer == GOLD) for answer in said]


def majority(said: tuple[str | None, ...]) -> float:
    votes = Counter(answer for answer in said if answer is not None)
    modes = [answer for answer, count in votes.items() if count == max(votes.values())]
    return modes.count(GOLD) / len(modes) if modes else 0.0


def test_001_three_equations_give_two_thirds() -> None:
    said = [["4", "42", "42", "42", "5"], ["1", "1", "2", "2", "42"], ["8", "9", "42", "42", "42"]]
    values = {estimate.name: estimate.value for estimate in summarize_votes([graded(row) for row in said], said)}
    assert values["maj@5"] == pytest.approx(2 / 3)


def test_003_cons_of_42_42_43_42_43_is_one() -> None:
    said: list[str | None] = ["42", "42", "43", "42", "43"]
    assert maj_at_k(said, graded(said), 5) == 1.0
    assert cons_at_k(5, 3, 5) == 1.0


def test_003_a_tie_of_two_wrong_answers_is_wrong() -> None:
    assert maj_at_k(["A", "B", "C", "A", "B"], [0] * 5, 5) == 0.0


def test_003_best_of_three_picks_score_nine() -> None:
    assert best_at_k([7, 9, 0], [1, 1, 0], 3) == 1.0
    assert best_at_k([7, 9, 0], [1, 0, 0], 3) == 0.0


def test_cons_and_maj_differ_on_two_right_of_five_with_three_different_wrong() -> None:
    said: list[str | None] = ["42", "1", "42", "2", "3"]
    assert cons_at_k(5, 2, 5) == 0.0
    assert maj_at_k(said, graded(said), 5) == 1.0


def test_what_could_not_be_extracted_never_votes_but_counts() -> None:
    assert maj_at_k([None, None, None, "42"], [0, 0, 0, 1], 4) == 1.0
    assert maj_at_k([None, None], [0, 0], 2) == 0.0
    assert agreement_at_k([None, None, "42", "42"], 4) == 0.5
    assert agreement_at_k([None, None, "42", "42"], 1) == 0.5
    assert agreement_at_k([None], 1) == 0.0


def test_wrong_consensus_needs_a_strict_majority_on_one_wrong_answer() -> None:
    assert wrong_consensus(["7", "7", "7", "42", "1"], [0, 0, 0, 1, 0]) == 1
    assert wrong_consensus(["7", "7", "42", "42"], [0, 0, 1, 1]) == 0
    assert wrong_consensus(["7", "8", "9"], [0, 0, 0]) == 0


@given(answers)
def test_maj_is_the_mean_over_all_subsets(said: list[str | None]) -> None:
    for k in range(1, len(said) + 1):
        subsets = list(combinations(said, k))
        expected = sum(map(majority, subsets)) / len(subsets)
        assert maj_at_k(said, graded(said), k) == pytest.approx(expected)


def share_of_the_mode(said: tuple[str | None, ...]) -> float:
    return max(Counter(answer for answer in said if answer is not None).values(), default=0) / len(said)


@given(answers)
def test_agreement_is_the_mean_over_all_subsets(said: list[str | None]) -> None:
    for k in range(1, len(said) + 1):
        subsets = list(combinations(said, k))
        expected = sum(map(share_of_the_mode, subsets)) / len(subsets)
        assert agreement_at_k(said, k) == pytest.approx(expected)


def test_more_samples_than_there_are_is_refused() -> None:
    for metric in (
        lambda: maj_at_k(["1"], [1], 2),
        lambda: agreement_at_k(["1"], 2),
        lambda: best_at_k([1.0], [1], 2),
    ):
        with pytest.raises(ValueError, match="1 <= k <= n"):
            metric()


@given(st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0, -0.5]), st.integers(0, 1)), min_size=1, max_size=7))
def test_best_is_the_mean_over_all_subsets(pairs: list[tuple[float, int]]) -> None:
    ranks, right = [rank for rank, _ in pairs], [c for _, c in pairs]
    for k in range(1, len(pairs) + 1):
        outcomes = []
        for subset in combinations(pairs, k):
            top = [c for rank, c in subset if rank == max(r for r, _ in subset)]
            outcomes.append(sum(top) / len(top))
        assert best_at_k(ranks, right, k) == pytest.approx(sum(outcomes) / len(outcomes))


@given(answers)
def test_majority_is_between_strict_majority_and_pass(said: list[str | None]) -> None:
    n, c = len(said), sum(graded(said))
    assert cons_at_k(n, c, n) <= maj_at_k(said, graded(said), n) <= pass_at_k(n, c, n)


def test_votes_of_very_many_samples_are_left_out() -> None:
    names = [estimate.name for estimate in summarize_votes([[0] * 100] * 2, [["7"] * 100] * 2)]
    assert names == ["wrong consensus"]


def test_twenty_samples_at_ten_take_no_time_to_speak_of() -> None:
    said: list[str | None] = [str(i % 9) for i in range(20)]
    assert 0 < maj_at_k(said, [int(answer == "0") for answer in said], 10) < 1


def test_votes_come_with_intervals_and_best_only_with_ranks() -> None:
    said = [["42", "42", "1"], ["7", "7", "7"]]
    matrix = [graded(row) for row in said]
    plain = {estimate.name: estimate for estimate in summarize_votes(matrix, said)}
    assert list(plain) == [
        "maj@1",
        "maj@2",
        "maj@3",
        "agreement@1",
        "agreement@2",
        "agreement@3",
        "wrong consensus",
    ]
    assert plain["maj@3"].value == 0.5
    assert plain["maj@1"].value == pytest.approx(1 / 3)
    assert plain["agreement@3"].value == pytest.approx(5 / 6)
    assert plain["wrong consensus"].value == 0.5
    assert all(e.low <= e.value <= e.high for e in plain.values())
    (*_, best) = summarize_votes(matrix, said, ranks=[[0, 1, 2], [1, 1, 1]])
    assert (best.name, best.value) == ("best@3", 0.0)
    assert summarize_votes([], []) == ()
