"""The tests of "nothing changed" between two runs on the same problems: against scipy and exact distributions."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.statistics.changes import cochran_mantel_haenszel, signs_by_problem

stats = pytest.importorskip("scipy.stats")
counts = st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
pairs = st.lists(st.tuples(counts, counts), min_size=1, max_size=12)


@given(pairs)
def test_cmh_has_the_moments_of_the_hypergeometric_distribution(
    both: list[tuple[tuple[int, int], ...]],
) -> None:
    first, second = [a for a, _ in both], [b for _, b in both]
    mean = variance = 0.0
    for (na, ca), (nb, cb) in both:
        ways = {
            c: math.comb(nb, c) * math.comb(na, ca + cb - c) for c in range(min(nb, ca + cb) + 1)
        }
        centre = sum(c * way for c, way in ways.items()) / sum(ways.values())
        mean += centre
        variance += sum((c - centre) ** 2 * way for c, way in ways.items()) / sum(ways.values())
    result = cochran_mantel_haenszel(first, second)
    if variance < 1e-12:
        assert result.changed_p == result.worse_p == 1.0
    else:
        z = (sum(c for _, c in second) - mean) / variance**0.5
        assert result.changed_p == pytest.approx(stats.chi2.sf(z * z, 1), abs=1e-9)
        assert result.worse_p == pytest.approx(stats.norm.cdf(z + 0.5 / variance**0.5), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=30))
def test_with_one_sample_a_problem_the_signs_are_the_binomial_test_of_mcnemar(
    both: list[tuple[int, int]],
) -> None:
    lost, won = both.count((1, 0)), both.count((0, 1))
    result = signs_by_problem([(1, a) for a, _ in both], [(1, b) for _, b in both])
    assert result.name == "exact McNemar"
    if lost + won:
        assert result.changed_p == pytest.approx(stats.binomtest(lost, lost + won).pvalue)
        assert result.worse_p == pytest.approx(
            stats.binomtest(lost, lost + won, alternative="greater").pvalue
        )
    else:
        assert result.changed_p == 1.0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=10))
def test_the_signs_count_every_way_to_exchange_the_runs(both: list[tuple[int, int]]) -> None:
    changes = [b / 3 - a / 5 for a, b in both]
    losses = [-math.fsum(change * sign for change, sign in zip(changes, signs, strict=True))
              for signs in itertools.product((1, -1), repeat=len(changes))]  # fmt: skip
    as_large = sum(loss >= -math.fsum(changes) - 1e-9 for loss in losses) / len(losses)
    assert signs_by_problem(
        [(5, a) for a, _ in both], [(3, b) for _, b in both]
    ).worse_p == pytest.approx(as_large)


def test_so_many_problems_that_the_signs_are_not_counted_give_nearly_the_same_p() -> None:
    draw = random.Random(6)
    first, second = ([(1, int(draw.random() < 0.5)) for _ in range(9000)] for _ in range(2))
    lost, won = (
        sum(a == which and b != a for (_, a), (_, b) in zip(first, second, strict=True))
        for which in (1, 0)
    )
    expected = stats.binomtest(lost, lost + won, alternative="greater").pvalue
    assert signs_by_problem(first, second).worse_p == pytest.approx(expected, abs=0.01)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_cmhs_p_of_a_loss_is_close_to_the_exact_one_and_seldom_below(
    both: list[tuple[int, int]],
) -> None:
    # Exact: the convolution of the problems' hypergeometric distributions.
    totals = {0: 1.0}
    for a, b in both:
        ways = {
            c: math.comb(3, c) * math.comb(3, a + b - c)
            for c in range(max(0, a + b - 3), min(3, a + b) + 1)
        }
        sure, parts = sum(ways.values()), totals
        totals = {}
        for total, chance in parts.items():
            for c, way in ways.items():
                totals[total + c] = totals.get(total + c, 0.0) + chance * way / sure
    exact = sum(chance for total, chance in totals.items() if total <= sum(b for _, b in both))
    found = cochran_mantel_haenszel([(3, a) for a, _ in both], [(3, b) for _, b in both]).worse_p
    assert found == pytest.approx(exact, abs=0.03)
    assert found > 0.01 or exact <= 0.01  # a loss is shown at 1 %
