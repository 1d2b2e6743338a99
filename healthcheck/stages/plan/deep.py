"""The checks of `verify --deep` alone: they ask the real vLLM."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.stages.plan.checks.engine_config import engine_config
from healthcheck.stages.plan.engine_config.facts import EngineConfig

DEEP_CHECKS: tuple[Check[EngineConfig], ...] = (engine_config,)
