"""The checks of the probe in order, each in a module named after its id."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.stages.probe.checks.accuracy import accuracy
from healthcheck.stages.probe.checks.completes import completes
from healthcheck.stages.probe.checks.crowd import crowd
from healthcheck.stages.probe.checks.degenerate import degenerate
from healthcheck.stages.probe.checks.same_prompt import same_prompt
from healthcheck.stages.probe.checks.steady import steady
from healthcheck.stages.probe.checks.truncated import truncated
from healthcheck.stages.probe.records import ProbeRun

CHECKS: tuple[Check[ProbeRun], ...] = (
    completes,
    degenerate,
    truncated,
    same_prompt,
    crowd,
    steady,
    accuracy,
)
