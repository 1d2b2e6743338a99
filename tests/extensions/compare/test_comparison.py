"""Two runs on the same problems: against scipy, and what must and must not be concluded."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.extensions.compare.comparison import Shift, compare

stats = pytest.importorskip("scipy.stats")
counts = st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
pairs = st.lists(st.tuples(counts, counts), min_size=1, max_size=12)


def drawn(seed: int, shares: list[float], n: int = 5) -> list[tuple[int, int]]:
    draw = random.Random(seed)
    return [(n, sum(draw.random() < p for _ in range(n))) for p in shares]


def shares_of(seed: int, problems: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.betavariate(0.8, 0.2) for _ in range(problems)]


def test_the_difference_is_scipys_paired_t() -> None:
    shares = shares_of(1, 60)
    first, second = drawn(2, shares), drawn(3, shares)
    result = compare(first, second, margin=0.05)
    expected = stats.ttest_rel([c / n for n, c in second], [c / n for n, c in first])
    interval = expected.confidence_interval(0.95)
    assert result.difference is not None
    assert (result.difference.low, result.difference.high) == pytest.approx(
        (interval.low, interval.high), abs=1e-9
    )
    more = [c / n - a / m for (n, c), (m, a) in zip(second, first, strict=True)] + [-1.0, 1.0]
    wider = stats.t.ppf(0.95, 59) * (stats.tvar(more) / 60) ** 0.5
    assert result.lower_bound == pytest.approx(
        result.difference.value - wider, abs=1e-9
    )  # 17 problems differ


def test_where_many_problems_differ_the_bound_is_scipys_too() -> None:
    shares = [0.2 + 0.6 * place / 80 for place in range(80)]
    first, second = drawn(2, shares), drawn(3, shares)
    expected = stats.ttest_rel([c / n for n, c in second], [c / n for n, c in first])
    bound = compare(first, second, margin=0.05).lower_bound
    assert bound == pytest.approx(expected.confidence_interval(0.9).low, abs=1e-9)


@pytest.mark.parametrize(
    "runs", [[(5, 5)] * 60, [(5, 5)] * 30 + [(5, 0)] * 30, [(1, 1)] * 40 + [(1, 0)] * 20]
)
def test_runs_without_any_difference_find_no_smaller_drop_than_their_bound_excludes(
    runs: list[tuple[int, int]],
) -> None:
    result = compare(runs, runs, margin=0.05)
    assert -result.lower_bound < result.minimal_detectable < 0.1


def test_the_same_model_is_no_worse_and_a_broken_one_is() -> None:
    shares = shares_of(4, 120)
    reference = drawn(5, shares)
    same = compare(reference, drawn(6, shares), margin=0.05)
    broken = compare(reference, drawn(7, [p / 2 for p in shares]), margin=0.05)
    assert same.shift is Shift.NO_WORSE
    assert same.tests[0].changed_p > 0.05
    assert broken.shift is Shift.WORSE
    assert broken.tests[0].worse_p < 1e-6


def test_a_large_p_value_alone_is_no_evidence_of_sameness() -> None:
    shares = shares_of(8, 24)
    result = compare(drawn(9, shares, 1), drawn(10, shares, 1), margin=0.02)
    assert result.tests[0].changed_p > 0.05
    assert result.shift is Shift.UNDECIDED
    assert [test.name for test in result.tests] == ["exact McNemar"]
    assert result.minimal_detectable > 0.1


@pytest.mark.parametrize(
    ("lost", "margin", "shift", "loss_shown", "beyond_margin"),
    [
        (0, 0.05, Shift.NO_WORSE, False, False),
        (10, 0.05, Shift.NO_WORSE, True, False),  # a loss, but a small one
        (24, 0.05, Shift.WORSE, True, False),  # a loss; whether beyond the margin is open
        (24, 0.01, Shift.WORSE, True, True),
        (
            1,
            0.0001,
            Shift.UNDECIDED,
            False,
            False,
        ),  # not shown to be no worse is not shown to be worse
    ],
)
def test_each_word_says_what_was_shown(
    lost: int, margin: float, shift: Shift, loss_shown: bool, beyond_margin: bool
) -> None:
    first = [(5, 5)] * 120
    second = [(5, 4)] * lost + [(5, 5)] * (120 - lost)
    result = compare(first, second, margin=margin)
    assert (result.shift, result.loss_shown, result.beyond_margin) == (
        shift,
        loss_shown,
        beyond_margin,
    )


def test_few_problems_decide_nothing() -> None:
    result = compare([(5, 5)] * 8, [(5, 0)] * 8, margin=0.05)
    assert (result.too_few, result.shift, result.problems_needed) == (True, Shift.UNDECIDED, None)


def test_so_many_problems_as_it_says_settle_it_if_the_difference_stays() -> None:
    first, second = [(5, 4)] * 30, [(5, 4)] * 14 + [(5, 3)] * 8 + [(5, 5)] * 8
    result = compare(first, second, margin=0.03)
    assert result.shift is Shift.UNDECIDED
    assert result.problems_needed is not None
    times = math.ceil(result.problems_needed / 30)
    assert times < 20
    assert compare(first * times, second * times, margin=0.03).shift is Shift.NO_WORSE


def test_runs_that_agree_everywhere_are_not_certain() -> None:
    result = compare([(1, 1)] * 60, [(1, 1)] * 60, margin=0.1)
    assert result.difference is not None
    assert result.difference.low < 0 < result.difference.high
    assert result.shift is Shift.NO_WORSE


@pytest.mark.parametrize("margin", [0.05, 0.1])
@pytest.mark.parametrize("problems", [20, 40, 60, 90, 120, 200, 300])
def test_answers_lost_for_good_are_seldom_called_no_loss(problems: int, margin: float) -> None:
    first = [(1, 1)] * problems
    missed = sum(
        stats.binom.pmf(lost, problems, margin)
        for lost in range(problems + 1)
        if compare(first, [(1, 0)] * lost + first[lost:], margin=margin).shift is Shift.NO_WORSE
    )
    assert missed < 0.09  # 5 % is nominal; the plain paired t has up to 19 %


@given(pairs)
def test_swapping_the_runs_mirrors_the_difference(both: list[tuple[tuple[int, int], ...]]) -> None:
    first, second = [a for a, _ in both], [b for _, b in both]
    there, back = compare(first, second, margin=0.05), compare(second, first, margin=0.05)
    assert there.tests[0].changed_p == pytest.approx(back.tests[0].changed_p)
    if there.difference is not None:
        assert back.difference is not None
        assert there.difference.value == pytest.approx(-back.difference.value)
        assert there.difference.low == pytest.approx(-back.difference.high)


def test_different_banks_are_refused() -> None:
    with pytest.raises(ValueError, match="same problems"):
        compare([(1, 1)], [(1, 1), (1, 0)], margin=0.05)


def one_answer(draw: random.Random, shares: list[float], copied: float) -> list[tuple[int, int]]:
    """Five samples of each problem; of a share of the problems they are copies of one."""
    return [
        (
            5,
            5 * (draw.random() < p)
            if draw.random() < copied
            else sum(draw.random() < p for _ in range(5)),
        )
        for p in shares
    ]


@pytest.mark.parametrize("copied", [0.3, 1.0])
@pytest.mark.parametrize("problems", [60, 120])
def test_copied_samples_of_equal_servers_are_seldom_called_worse(
    problems: int, copied: float
) -> None:
    draw, worse = random.Random(f"{problems} {copied}"), 0
    for _ in range(500):
        shares = [draw.betavariate(0.8, 0.2) for _ in range(problems)]
        first, second = one_answer(draw, shares, copied), one_answer(draw, shares, copied)
        worse += compare(first, second, margin=0.01).shift is Shift.WORSE
    assert worse / 500 <= 0.01 + 2.5 * (0.01 * 0.99 / 500) ** 0.5


def test_one_problem_lost_with_all_its_samples_is_one_problem_lost() -> None:
    first, second = [(5, 5)] * 60, [(5, 0)] + [(5, 5)] * 59
    result = compare(first, second, margin=0.01)
    assert (result.shift, result.loss_p, result.changed_p) == (Shift.UNDECIDED, 0.5, 1.0)


def called_worse(problems: int, dead: float, replicates: int) -> float:
    """How often a second run is called worse of which a share of the problems died."""
    draw, worse = random.Random(f"{problems} {dead}"), 0
    for _ in range(replicates):
        shares = [draw.betavariate(0.8, 0.2) for _ in range(problems)]
        second = [0.0 if draw.random() < dead else share for share in shares]
        result = compare(
            drawn(draw.getrandbits(64), shares), drawn(draw.getrandbits(64), second), margin=0.05
        )
        worse += result.shift is Shift.WORSE
    return worse / replicates


def test_problems_that_die_are_found() -> None:
    assert called_worse(120, 0.125, 100) > 0.75  # 10 points lost


@pytest.mark.slow
@pytest.mark.parametrize("problems", [20, 40, 120])
def test_the_same_server_is_called_worse_in_at_most_one_percent(problems: int) -> None:
    assert called_worse(problems, 0.0, 3000) <= 0.01 + 2.5 * (0.01 * 0.99 / 3000) ** 0.5
