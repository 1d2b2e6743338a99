"""The standard error of pass@k against the number of samples: worked cases, and simulations with a known truth."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.probe.statistics.metrics import pass_at_k
from healthcheck.probe.statistics.pass_variance import ENDLESS, sharpness

numpy = pytest.importorskip("numpy")
REPLICATES = 4000
counts_of_five = st.lists(st.tuples(st.just(5), st.integers(0, 5)), min_size=2, max_size=12)


@given(counts_of_five, st.integers(1, 5))
def test_with_the_samples_that_there_are_it_is_the_usual_standard_error(
    counts: list[tuple[int, int]], k: int
) -> None:
    values = [pass_at_k(n, c, k) for n, c in counts]
    (found,) = sharpness(counts, k, [5])
    assert found.like_these == pytest.approx(statistics.stdev(values) / math.sqrt(len(values)), abs=1e-7)


def test_of_one_sample_it_is_that_of_a_coin() -> None:
    one, four, endless = sharpness([(2, 1)] * 50, 1, [1, 4, ENDLESS])
    # Half of the pairs are right and wrong, none are alike: p (1 - p) by U-statistics is 1/2.
    assert one.this_bank == pytest.approx(math.sqrt(0.5 / 50))
    assert four.this_bank == pytest.approx(math.sqrt(0.5 / 50 / 4))
    assert endless.this_bank == 0.0


def test_more_samples_than_there_are_need_twice_k() -> None:
    assert [each.samples for each in sharpness([(5, 2), (5, 4)], 3, [3, 5, 10, ENDLESS])] == [3, 5]
    assert [each.samples for each in sharpness([(6, 2), (6, 4)], 3, [3, 5, 12, ENDLESS])] == [3, 5, 12, ENDLESS]


def test_what_does_not_fit_is_refused() -> None:
    for counts, k, samples in (([], 1, [1]), ([(5, 1), (4, 1)], 1, [1]), ([(5, 1)], 6, [6]), ([(5, 1)], 3, [2])):
        with pytest.raises(ValueError, match=r"k samples|1 <= k"):
            sharpness(counts, k, samples)


@pytest.mark.parametrize(("k", "known", "samples"), [(1, 5, 2), (1, 5, 20), (2, 5, 3), (2, 5, 20), (4, 8, 32)])
def test_it_foretells_the_spread_of_runs_with_other_numbers_of_samples(k: int, known: int, samples: int) -> None:
    generator = numpy.random.default_rng([k, known, samples])
    problems = 60
    passed = numpy.array([pass_at_k(samples, c, k) for c in range(samples + 1)])

    def means(shares: object) -> object:
        return passed[generator.binomial(samples, shares, (REPLICATES, problems))].mean(1)

    fresh, bank = generator.beta(1.4, 0.6, (REPLICATES, problems)), generator.beta(1.4, 0.6, problems)
    true_like_these, true_this_bank = means(fresh).std(), means(bank).std()
    runs = generator.binomial(known, fresh[:300]), generator.binomial(known, bank, (300, problems))
    told = [[sharpness([(known, c) for c in row], k, [samples])[0] for row in run.tolist()] for run in runs]
    # The root mean square is what is unbiased; 4000 replicates know a deviation to 1.2 %.
    like_these = math.sqrt(statistics.fmean(each.like_these**2 for each in told[0]))
    this_bank = math.sqrt(statistics.fmean(each.this_bank**2 for each in told[1]))
    assert like_these == pytest.approx(true_like_these, rel=0.05)
    assert this_bank == pytest.approx(true_this_bank, rel=0.05)
