"""What a combination of pass@n, avg@n and cons@n means, and what to do next."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.messages import msg
from healthcheck.probe.statistics.records import Estimate

HIGH = 0.8
LOW = 0.5


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
