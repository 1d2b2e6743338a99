"""The bootstrap beside the probe's own interval."""

from __future__ import annotations

from healthcheck.extensions.lab.bootstrap import bootstrap
from healthcheck.stages.probe.statistics.intervals import by_problem


def test_bootstrap_is_the_same_for_the_same_seed_and_degenerate_when_all_agree() -> None:
    values = [0.0, 0.4, 0.6, 1.0, 1.0, 0.2]
    assert bootstrap(values, seed=3) == bootstrap(values, seed=3)
    assert bootstrap(values, seed=3) != bootstrap(values, seed=4)
    assert (bootstrap([1.0] * 9, seed=1).low, by_problem([1.0] * 9).high) == (1.0, 1.0)
    assert by_problem([1.0] * 9).low < 0.9
