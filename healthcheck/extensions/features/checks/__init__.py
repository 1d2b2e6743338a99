"""The checks of `npu-adapter features` in order, each in a module named after its id."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.extensions.features.checks.long_context import long_context
from healthcheck.extensions.features.checks.parameters import parameters
from healthcheck.extensions.features.checks.reasoning import reasoning
from healthcheck.extensions.features.checks.structured_output import structured_output
from healthcheck.extensions.features.checks.tool_calls import tool_calls
from healthcheck.extensions.features.checks.tool_choice import tool_choice
from healthcheck.extensions.features.checks.tool_rate import tool_rate
from healthcheck.extensions.features.records import FeaturesRun

CHECKS: tuple[Check[FeaturesRun], ...] = (
    tool_calls,
    tool_choice,
    tool_rate,
    structured_output,
    reasoning,
    parameters,
    long_context,
)
