"""The figures of a run: frozen data, ready for JSON. Fractions, never percent."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.text.messages import msg

LIKE_THESE = msg("problems like these")
"""The question of an interval with the problem as its unit: what would other problems of this kind give?"""
THIS_BANK = msg("this bank again")
"""The question of an interval for exactly these problems: what would they give if sampled again?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its interval, and the question that it answers.

    Attributes:
        name: "avg@5", "pass@3", "accuracy (5 runs average)"
        value: the plain point estimate, a fraction.
        low, high: the interval's ends; they always enclose the value.
        level: the nominal coverage, two-sided unless the method says otherwise.
        method: of the interval ("clustered Clopper-Pearson").
        question: LIKE_THESE or THIS_BANK.
        problems, samples: the number of each behind the figure.
    """

    name: str
    value: float
    low: float
    high: float
    level: float
    method: str
    question: str
    problems: int
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of one set of problems: the whole bank, or one tier of it.

    Attributes:
        tier: the tier's name, "all" for the whole bank.
        problems, samples, correct: counts; correct counts samples whose score is above one half.
        repeats: the least number of samples of any problem; no k is larger.
        estimates: every metric with each of its intervals.
    """

    tier: str
    problems: int
    samples: int
    correct: int
    repeats: int
    estimates: tuple[Estimate, ...]

    def estimate(self, name: str, question: str = LIKE_THESE) -> Estimate | None:
        """The estimate with this name and question, None if the run does not have it."""
        return next((e for e in self.estimates if (e.name, e.question) == (name, question)), None)
