"""The checks of `verify --deep`, which query the real vLLM."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.extensions.deep.checks.engine_config import engine_config
from healthcheck.extensions.deep.facts import EngineConfig

CHECKS: tuple[Check[EngineConfig], ...] = (engine_config,)
