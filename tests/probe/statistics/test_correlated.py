"""pass@k with and without the correlation of samples: limits, and simulations with a known truth."""

from __future__ import annotations

import pytest

from healthcheck.probe.statistics.correlated import reach

numpy = pytest.importorskip("numpy")
POPULATIONS = [(0.5, 0.3), (0.8, 0.5), (0.3, 0.5), (0.2, 0.3)]
"""Mean share of right samples and ICC of beta-distributed problems."""


def shares(generator: object, p: float, rho: float, size: tuple[int, ...]) -> object:
    strength = 1 / rho - 1
    return generator.beta(p * strength, (1 - p) * strength, size)  # type: ignore[attr-defined]


def counts(row: object) -> list[tuple[int, int]]:
    return [(5, int(c)) for c in row]  # type: ignore[attr-defined]


def test_a_deterministic_model_passes_no_more_with_more_samples() -> None:
    found = reach([(5, 5), (5, 0)] * 20, ["all"] * 40, 20)
    assert found is not None
    assert found.correlated.value == pytest.approx(0.5)
    assert found.independent == pytest.approx(1 - 0.5**20)


def test_equal_problems_are_independent_samples() -> None:
    found = reach([(5, 2)] * 10, ["all"] * 10, 3)
    assert found is not None
    assert found.correlated.value == found.independent == pytest.approx(1 - 0.6**3)


def test_tiers_are_fitted_apart() -> None:
    # Pooled, tiers of .8 and .2 look correlated; within a tier every problem is alike.
    rows = [(5, 4)] * 20 + [(5, 1)] * 20
    tiers = ["easy"] * 20 + ["hard"] * 20
    apart, pooled = reach(rows, tiers, 10), reach(rows, ["all"] * 40, 10)
    assert apart is not None
    assert pooled is not None
    assert apart.correlated.value == apart.independent == pytest.approx(1 - (0.2**10 + 0.8**10) / 2)
    assert pooled.correlated.value < pooled.independent - 0.03


@pytest.mark.parametrize(("rows", "tiers"), [([(1, 1), (1, 0)], ["", ""]), ([(5, 1)], [""]), ([], [])])
def test_nothing_is_said_where_no_correlation_can_be_seen(rows: list[tuple[int, int]], tiers: list[str]) -> None:
    assert reach(rows, tiers, 4) is None


def test_it_is_unbiased_beyond_the_samples_where_independence_is_far_off() -> None:
    generator = numpy.random.default_rng(3)
    for p, rho in POPULATIONS:
        truth = 1 - (1 - shares(generator, p, rho, (200_000,))) ** 10
        runs = generator.binomial(5, shares(generator, p, rho, (150, 120)))
        found = [reach(counts(row), ["all"] * 120, 10) for row in runs]
        mean = float(numpy.mean([each.correlated.value for each in found if each]))
        assert mean == pytest.approx(float(truth.mean()), abs=0.015), (p, rho)
        assert min(each.independent for each in found if each) > mean + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("problems", [20, 40, 120])
@pytest.mark.parametrize(("p", "rho"), POPULATIONS)
@pytest.mark.parametrize("k", [5, 10, 20])
def test_its_interval_covers(k: int, p: float, rho: float, problems: int) -> None:
    generator = numpy.random.default_rng([k, problems])
    truth = float(numpy.mean(1 - (1 - shares(generator, p, rho, (400_000,))) ** k))
    runs = generator.binomial(5, shares(generator, p, rho, (1000, problems)))
    covered = 0
    for row in runs:
        found = reach(counts(row), ["all"] * problems, k)
        assert found is not None
        covered += found.correlated.low <= truth <= found.correlated.high
    assert covered / 1000 >= 0.93 - 0.015  # two standard errors of the measurement


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solved", "of_them", "rest", "most"), [(0.95, 0.7, 0.1, 0.06), (0.9, 0.7, 0.0, 0.08), (0.6, 0.5, 0.02, 0.11)]
)
def test_what_it_is_wrong_by_where_problems_are_of_two_kinds(
    solved: float, of_them: float, rest: float, most: float
) -> None:
    """docs/statistics.md names these errors at twice the samples that there are; independence is wrong by far more."""
    generator = numpy.random.default_rng(5)
    truth = of_them * (1 - (1 - solved) ** 10) + (1 - of_them) * (1 - (1 - rest) ** 10)
    kinds = numpy.where(generator.random((300, 120)) < of_them, solved, rest)
    found = [reach(counts(row), ["all"] * 120, 10) for row in generator.binomial(5, kinds)]
    mean = float(numpy.mean([each.correlated.value for each in found if each]))
    independent = float(numpy.mean([each.independent for each in found if each]))
    assert abs(mean - truth) < most < abs(independent - truth)
