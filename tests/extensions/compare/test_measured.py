"""What the comparison of two runs promises, measured over thousands of replicates."""

from __future__ import annotations

import pytest

from healthcheck.extensions.compare.comparison import compare
from healthcheck.stages.probe.statistics.changes import cochran_mantel_haenszel
from tests.probe.statistics.test_measured import shares

numpy = pytest.importorskip("numpy")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("problems", [40, 120])
@pytest.mark.parametrize("rho", [0.3, 0.5])
def test_comparisons_of_the_same_model_are_rarely_called_changed(problems: int, rho: float) -> None:
    generator = numpy.random.default_rng(11)
    replicates, changed, beyond, covered = 1500, 0, 0, 0
    for _ in range(replicates):
        bank = shares(generator, 0.8, rho, (problems,))
        first, second = ([(5, int(c)) for c in generator.binomial(5, bank)] for _ in range(2))
        changed += cochran_mantel_haenszel(first, second).changed_p < 0.05
        result = compare(first, second, margin=0.1)
        assert result.difference is not None
        beyond += result.lower_bound > 0
        covered += result.difference.low <= 0 <= result.difference.high
    assert changed / replicates <= 0.065
    assert beyond / replicates <= 0.065
    assert covered / replicates >= 0.93


def test_a_degradation_at_the_margin_is_rarely_called_no_degradation() -> None:
    generator = numpy.random.default_rng(5)
    replicates, passed = 1500, 0
    for _ in range(replicates):
        bank = shares(generator, 0.8, 0.5, (120,))
        first = [(5, int(c)) for c in generator.binomial(5, bank)]
        second = [(5, int(c)) for c in generator.binomial(5, bank * (1 - 0.05 / 0.8))]
        passed += compare(first, second, margin=0.05).shift.value == "no worse"
    assert passed / replicates <= 0.075
