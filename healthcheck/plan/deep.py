"""The checks of `verify --deep` alone: they ask the real vLLM."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.plan.checks.engine_config import engine_config
from healthcheck.plan.engine_config.facts import EngineConfig

DEEP_CHECKS: tuple[Check[EngineConfig], ...] = (engine_config,)
