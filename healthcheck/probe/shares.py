"""The share of a run's answers that show something, with the problem as the unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from healthcheck.probe.records import Sample
from healthcheck.probe.statistics.intervals import wilson


def surely(shown: Iterable[Sample], answered: Iterable[Sample]) -> float:
    """The lower end of the 95 % interval for the share of the answers.

    The samples of a problem are often copies of each other, so each problem counts once, with the share of its
    samples; a mean of such shares varies no more than a binomial share of as many trials.
    """
    asked = Counter(sample.problem for sample in answered)
    found = Counter(sample.problem for sample in shown)
    return wilson(sum(found[problem] / times for problem, times in asked.items()), len(asked)).low
