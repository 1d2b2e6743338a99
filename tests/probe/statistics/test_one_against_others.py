"""One server against others: exact against scipy and against every order, and what it is for."""

from __future__ import annotations

import itertools
import random

import pytest

from healthcheck.stages.probe.statistics.one_against_others import Stratum, against_others

stats = pytest.importorskip("scipy.stats")


def p_of(*strata: Stratum, by_problem: bool = False) -> float:
    return against_others(strata, by_problem=by_problem, error=0.01).p


@pytest.mark.parametrize(
    "stratum", [(10, 4, 20, 15), (50, 31, 100, 83), (7, 0, 9, 9), (3, 3, 8, 2), (200, 90, 150, 80)]
)
def test_one_stratum_is_the_exact_test_of_fisher(stratum: Stratum) -> None:
    n, c, m, d = stratum
    expected = stats.fisher_exact([[c, n - c], [d, m - d]], alternative="less").pvalue
    assert p_of(stratum) == pytest.approx(expected, rel=1e-9)


def test_several_strata_count_every_order_of_each() -> None:
    strata: tuple[Stratum, ...] = ((2, 0, 3, 2), (3, 1, 2, 2), (1, 0, 4, 3))
    observed = sum(c for _, c, _, _ in strata)
    orders = [
        [sum(order[:n]) for order in itertools.permutations([1] * (c + d) + [0] * (n + m - c - d))]
        for n, c, m, d in strata
    ]
    sums = [sum(each) for each in itertools.product(*(sorted(order)[::4] for order in orders))]
    assert p_of(*strata) == pytest.approx(sum(total <= observed for total in sums) / len(sums))


def test_many_samples_are_near_the_exact_distribution() -> None:
    n, c, m, d = 3000, 2350, 6000, 4890
    expected = stats.hypergeom.cdf(c, n + m, c + d, n)
    assert p_of((n, c, m, d)) == pytest.approx(expected, rel=0.1)


def test_what_says_nothing_is_no_evidence() -> None:
    assert p_of((5, 5, 5, 5), (3, 0, 9, 0), (0, 0, 4, 2), (4, 2, 0, 0)) == 1.0
    assert against_others([], by_problem=True, error=0.01).detectable is None
    assert against_others([(0, 0, 4, 2)], by_problem=True, error=0.01).detectable is None


def test_answers_that_are_certain_and_differ_by_server_are_not_a_loss() -> None:
    """At temperature 0 a server repeats itself: twelve samples of three problems are the evidence of three."""
    strata: list[Stratum] = [(4, 0, 8, 8)] * 3
    assert p_of(*strata) < 1e-6
    assert p_of(*strata, by_problem=True) > 0.01


def test_a_loss_on_many_problems_is_found_and_the_loss_that_can_be_found_shrinks() -> None:
    dice = random.Random(5)

    def run(problems: int, loss: float) -> list[Stratum]:
        rows = []
        for _ in range(problems):
            right = [dice.random() < 0.8 for _ in range(6)]
            one = [answer and dice.random() >= loss for answer in right[:2]]
            rows.append((2, sum(one), 4, sum(right[2:])))
        return rows

    assert against_others(run(200, 0.4), by_problem=True, error=0.01).p < 1e-4
    few, many = (against_others(run(count, 0.0), by_problem=True, error=0.01).detectable for count in (50, 800))
    assert few is not None
    assert many is not None
    assert many < few / 2
