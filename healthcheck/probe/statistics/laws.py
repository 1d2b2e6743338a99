"""What any report must satisfy, and what its combination of figures means.

For n = k the figures are sums over the counts c_i: a problem with c = 0 adds nothing; one with c up to k/2
adds to pass only; one with c > k/2 to pass and cons. Everything here follows from that.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.messages import msg
from healthcheck.probe.statistics.records import Estimate

HIGH = 0.8
LOW = 0.5
HALF_OF_A_PRINTED_DIGIT = 0.5e-4
"""Rounding of a figure that was printed as percent with two decimals."""


class Band(enum.Enum):
    """The bands of the documentation: high above .8, low below .5."""

    LOW = "low"
    MID = "mid"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A row of the decision matrix: what the combination means, and what to do next."""

    situation: str
    next_steps: str


UNSTABLE = Profile(
    situation=msg("strong but unstable"), next_steps=msg("improve consistency: lower temperature, voting")
)
EVEN = Profile(situation=msg("even, neither good nor bad"), next_steps=msg("broad improvement: data, prompt"))
BIASED = Profile(
    situation=msg("systematic error: the samples agree on a wrong answer"),
    next_steps=msg("look at the answer format, the prompt, the chat template, then the model"),
)
FAILING = Profile(
    situation=msg("failing"), next_steps=msg("look for a broken deployment before you blame the model")
)
RELIABLE = Profile(situation=msg("reliable"), next_steps=msg("nothing to repair"))
_ROWS = {
    (Band.HIGH, Band.HIGH, Band.HIGH): RELIABLE,
    (Band.HIGH, Band.MID, Band.LOW): UNSTABLE,
    (Band.MID, Band.MID, Band.MID): EVEN,
    (Band.LOW, Band.LOW, Band.LOW): FAILING,
}
"""By pass@k, avg@k and cons@k."""


def feasible(avg: float, passed: float, cons: float, k: int, tolerance: float = 0.0) -> tuple[str, ...]:
    """The laws that a report with n = k breaks; empty if the three figures can occur together.

    The last two laws are exact: with cons and pass given, every average between them does occur.

    Args:
        avg: avg@k, a fraction.
        passed: pass@k.
        cons: cons@k.
        k: samples of each problem.
        tolerance: rounding of each figure (HALF_OF_A_PRINTED_DIGIT for a printed summary).
    """
    majority, slack = k // 2 + 1, tolerance + 1e-9
    least = (cons * majority + (passed - cons)) / k
    most = (cons * k + (passed - cons) * (majority - 1)) / k
    ranges = all(-slack <= figure <= 1 + slack for figure in (avg, passed, cons))
    laws = (
        (ranges, msg("every figure lies between 0 and 100 %")),
        (avg <= passed + 2 * slack, msg("avg@{k} <= pass@{k}: a correct sample makes its problem pass", k)),
        (
            passed <= k * avg + (k + 1) * slack,
            msg("pass@{k} <= {k} avg@{k}: each passed problem has a correct sample", k),
        ),
        (cons <= passed + 2 * slack, msg("cons@{k} <= pass@{k}: a correct majority makes its problem pass", k)),
        (
            avg >= least - 3 * slack,
            msg(
                "avg@{k} >= {least:.4f}: each problem of cons@{k} has {majority} correct samples",
                k,
                least,
                majority,
            ),
        ),
        (
            avg <= most + 3 * slack,
            msg(
                "avg@{k} <= {most:.4f}: a problem without a majority has at most {majority}", k, most, majority - 1
            ),
        ),
    )
    return tuple(text for holds, text in laws if not holds)


def fewest_problems(avg: float, passed: float, cons: float, k: int, limit: int = 10_000) -> int | None:
    """The least number of problems for which such figures can be printed as percent with two decimals.

    A report does not say how many problems it rests on; 5.60/24.00/0.00 at n = 5 needs a multiple of 25.
    """
    for problems in range(1, limit + 1):
        counts = [round(avg * problems * k), round(passed * problems), round(cons * problems)]
        exact = (counts[0] / (problems * k), counts[1] / problems, counts[2] / problems)
        printed = (f"{100 * a:.2f}" == f"{100 * b:.2f}" for a, b in zip(exact, (avg, passed, cons), strict=True))
        if all(printed) and not feasible(*exact, k):
            return problems
    return None


def band(figure: float) -> Band:
    """High above .8, low below .5, otherwise mid."""
    return Band.HIGH if figure > HIGH else Band.LOW if figure < LOW else Band.MID


def profile(passed: float, avg: float, cons: float, agreement: float | None = None) -> Profile | None:
    """The row of the documentation's decision matrix that fits, None if none does.

    The documented row "low pass, low avg, high cons" cannot occur, since cons <= pass; what it means (samples that
    agree on a wrong answer) shows in the agreement of the answers, and is looked up there.
    """
    bands = (band(passed), band(avg), band(cons))
    if bands == (Band.LOW,) * 3 and agreement is not None and band(agreement) is Band.HIGH:
        return BIASED
    return _ROWS.get(bands)


def settled(headline: Sequence[Estimate]) -> bool:
    """Whether the whole interval of each figure lies in one band, so that the profile is more than a guess."""
    return all(band(estimate.low) is band(estimate.high) for estimate in headline)
