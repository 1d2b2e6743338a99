"""The additions of the extension `lab` to a probe: figures that no verdict needs.

The core works without the extension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from healthcheck.core import extensions
from healthcheck.core.records import JsonValue
from healthcheck.stages.probe.records import Grid, ProbeRun
from healthcheck.stages.probe.statistics.estimates import Estimate

NAME = "lab"


class Laboratory(Protocol):
    """The extension."""

    def votes(self, run: ProbeRun, chosen: Grid) -> tuple[Estimate, ...]:
        """Further figures of a part of a run, beside maj@n."""

    def choices(self, run: ProbeRun, chosen: Grid) -> tuple[tuple[Estimate, str], ...]:
        """Further figures that choose one of n samples, and their choices."""

    def reliability(
        self, run: ProbeRun, chosen: Grid
    ) -> tuple[str, Sequence[tuple[float, Estimate]]] | None:
        """Calibration in a sentence, and each bin's confidence and right answers, if there are likelihoods."""

    def metrics(self, run: ProbeRun, chosen: Grid) -> Mapping[str, JsonValue]:
        """Further figures of a whole run, by name."""


def laboratory() -> Laboratory | None:
    """The extension, if this installation has it."""
    found: Laboratory | None = extensions.part_if_there(NAME)
    return found
