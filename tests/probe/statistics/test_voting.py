"""Votes and agreement: worked examples and a count by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.statistics.counting import cons_at_k, pass_at_k
from healthcheck.stages.probe.statistics.summary import summarize_votes
from healthcheck.stages.probe.statistics.voting import (
    agreement,
    first_of_most,
    maj_at_n,
    wrong_consensus,
)

GOLD = "42"
answers = st.lists(st.sampled_from(["42", "43", "7", None]), min_size=1, max_size=7)


def graded(said: list[str | None]) -> list[int]:
    return [int(answer == GOLD) for answer in said]


def majority(said: list[str | None]) -> float:
    votes = Counter(answer for answer in said if answer is not None)
    modes = [answer for answer, count in votes.items() if count == max(votes.values())]
    return modes.count(GOLD) / len(modes) if modes else 0.0


def test_001_three_equations_give_two_thirds() -> None:
    said = [["4", "42", "42", "42", "5"], ["1", "1", "2", "2", "42"], ["8", "9", "42", "42", "42"]]
    values = {
        estimate.name: estimate.value
        for estimate in summarize_votes([graded(row) for row in said], said)
    }
    assert values["maj@5"] == pytest.approx(2 / 3)


def test_003_cons_of_42_42_43_42_43_is_one() -> None:
    said: list[str | None] = ["42", "42", "43", "42", "43"]
    assert maj_at_n(said, graded(said)) == 1.0
    assert cons_at_k(5, 3, 5) == 1.0


def test_003_a_tie_of_two_wrong_answers_is_wrong() -> None:
    assert maj_at_n(["A", "B", "C", "A", "B"], [0] * 5) == 0.0


def test_cons_and_maj_differ_on_two_right_of_five_with_three_different_wrong() -> None:
    said: list[str | None] = ["42", "1", "42", "2", "3"]
    assert cons_at_k(5, 2, 5) == 0.0
    assert maj_at_n(said, graded(said)) == 1.0


def test_what_could_not_be_extracted_never_votes_but_counts() -> None:
    assert maj_at_n([None, None, None, "42"], [0, 0, 0, 1]) == 1.0
    assert maj_at_n([None, None], [0, 0]) == 0.0
    assert agreement([None, None, "42", "42"]) == 0.5
    assert agreement([None]) == 0.0


def test_wrong_consensus_needs_a_strict_majority_on_one_wrong_answer() -> None:
    assert wrong_consensus(["7", "7", "7", "42", "1"], [0, 0, 0, 1, 0]) == 1
    assert wrong_consensus(["7", "7", "42", "42"], [0, 0, 1, 1]) == 0
    assert wrong_consensus(["7", "8", "9"], [0, 0, 0]) == 0


@given(answers)
def test_maj_shares_a_tie(said: list[str | None]) -> None:
    assert maj_at_n(said, graded(said)) == pytest.approx(majority(said))


@given(answers)
def test_majority_is_between_strict_majority_and_pass(said: list[str | None]) -> None:
    n, c = len(said), sum(graded(said))
    assert cons_at_k(n, c, n) <= maj_at_n(said, graded(said)) <= pass_at_k(n, c, n)


def test_of_several_most_frequent_answers_the_first_can_count() -> None:
    assert first_of_most(["7", "42", "7", "42"], [0, 1, 0, 1]) == 0
    assert first_of_most([None, "42", "7"], [0, 1, 0]) == 1
    assert first_of_most([None, None], [0, 0]) == 0


def test_votes_come_with_intervals() -> None:
    said = [["42", "42", "1"], ["7", "7", "7"]]
    found = {
        estimate.name: estimate for estimate in summarize_votes([graded(row) for row in said], said)
    }
    assert list(found) == ["maj@3", "maj@3 (first)", "agreement@3", "wrong consensus"]
    assert found["maj@3"].value == 0.5
    assert found["agreement@3"].value == pytest.approx(5 / 6)
    assert found["wrong consensus"].value == 0.5
    assert all(e.low <= e.value <= e.high for e in found.values())
    assert summarize_votes([], []) == ()
