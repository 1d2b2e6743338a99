"""The additions of the extension `lab` to a probe: figures that no verdict needs, and adaptive k.

The core works without the extension and then refuses options that need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from healthcheck.core import extensions
from healthcheck.core.records import JsonValue
from healthcheck.stages.probe.grading import Grade
from healthcheck.stages.probe.records import Grid, ProbeRun, ProbeSettings, Sample
from healthcheck.stages.probe.statistics.estimates import Estimate
from healthcheck.text.messages import Message

NAME = "lab"


class Majorities(Protocol):
    """Receives samples as they come, and knows which problems need no more."""

    def take(self, sample: Sample, grade: Grade) -> None: ...

    def settled(self, problem: int) -> bool: ...

    @property
    def left(self) -> tuple[int, int]:
        """The fewest and the most samples that the open problems still need."""


class Laboratory(Protocol):
    """The extension."""

    def majorities(self, settings: ProbeSettings, problems: int) -> Majorities:
        """Adaptive k for a run of this many problems."""

    def rounds(self, settings: ProbeSettings) -> int:
        """The number of samples that adaptive k takes of every problem in any case."""

    def told(self, run: ProbeRun) -> Message:
        """A sentence about the savings of adaptive k."""

    def votes(self, run: ProbeRun, chosen: Grid) -> tuple[Estimate, ...]:
        """Further figures of a part of a run, beside maj@n."""

    def choices(self, run: ProbeRun, chosen: Grid) -> tuple[tuple[Estimate, str], ...]:
        """Further figures that choose one of n samples, and their choices."""

    def reliability(self, run: ProbeRun, chosen: Grid) -> tuple[str, Sequence[tuple[float, Estimate]]] | None:
        """Calibration in a sentence, and each bin's confidence and right answers, if there are likelihoods."""

    def metrics(self, run: ProbeRun, chosen: Grid) -> Mapping[str, JsonValue]:
        """Further figures of a whole run, by name."""


def laboratory() -> Laboratory | None:
    """The extension, if this installation has it."""
    found: Laboratory | None = extensions.part_if_there(NAME)
    return found


def adaptive_k(settings: ProbeSettings) -> Laboratory | None:
    """The extension if the run uses adaptive k, else None.

    Raises:
        UsageError: the run uses adaptive k, and the extension is missing.
    """
    if settings.adaptive_k is None:
        return None
    found: Laboratory = extensions.part(NAME, "--adaptive-k")
    return found
