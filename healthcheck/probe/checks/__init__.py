"""The checks of the probe in order, each in a module that is named after its id."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.probe.checks.accuracy import accuracy
from healthcheck.probe.checks.completes import completes
from healthcheck.probe.checks.degenerate import degenerate
from healthcheck.probe.checks.truncated import truncated
from healthcheck.probe.records import ProbeRun

CHECKS: tuple[Check[ProbeRun], ...] = (completes, degenerate, truncated, accuracy)
