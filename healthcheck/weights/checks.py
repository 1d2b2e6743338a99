"""The checks of the weights stage, in the order in which they are reported."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.weights import check_config, check_size, check_task
from healthcheck.weights.facts import WeightsFacts

CHECKS: tuple[Check[WeightsFacts], ...] = (
    check_size.present,
    check_size.size_limit,
    check_config.config,
    check_task.supported,
    check_task.matches_weights,
)
