"""The distribution functions against scipy."""

from __future__ import annotations

import itertools

import pytest

from healthcheck.stages.probe.statistics import distributions

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")

DEGREES = (1, 1.5, 2, 3, 4.7, 9, 21, 41, 121, 601, 5000, 9999.5, 10001, 1e5, 1e6)
PROBABILITIES = (0.0005, 0.005, 0.025, 0.3, 0.5, 0.6, 0.9, 0.95, 0.975, 0.995, 0.9995)


def test_t_quantile_is_scipys(subtests: pytest.Subtests) -> None:
    for probability, df in itertools.product(PROBABILITIES, DEGREES):
        with subtests.test(f"{probability} of {df}"):
            assert distributions.t_quantile(probability, df) == pytest.approx(
                stats.t.ppf(probability, df), rel=2e-9, abs=1e-12
            )


@pytest.mark.parametrize(
    ("a", "b"), [(0.5, 0.5), (1, 1), (2, 59), (61, 1), (300, 301), (3000, 2), (0.5, 4000)]
)
def test_beta_is_scipys(a: float, b: float) -> None:
    for x in (0.0, 1e-9, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0):
        assert distributions.beta_cdf(x, a, b) == pytest.approx(
            special.betainc(a, b, x), rel=1e-9, abs=1e-14
        )
    for probability in (0.001, 0.025, 0.5, 0.975):
        expected = special.betaincinv(a, b, probability)
        assert distributions.beta_quantile(probability, a, b) == pytest.approx(
            expected, rel=1e-8, abs=1e-12
        )


def test_the_normal_tail_is_scipys() -> None:
    for z in (-3.0, 0.0, 1.0, 6.0):
        assert distributions.normal_upper_tail(z) == pytest.approx(stats.norm.sf(z), rel=1e-12)
