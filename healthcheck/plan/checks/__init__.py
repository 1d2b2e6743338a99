"""The checks of the plan stage, one module a check, in the order of the report."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.plan.checks.chat_api import chat_api
from healthcheck.plan.checks.engine_config import engine_config
from healthcheck.plan.checks.flags import flags
from healthcheck.plan.checks.foreground import foreground
from healthcheck.plan.checks.host import host
from healthcheck.plan.checks.model_path import model_path
from healthcheck.plan.checks.no_api_key import no_api_key
from healthcheck.plan.checks.one_machine import one_machine
from healthcheck.plan.checks.one_port_each import one_port_each
from healthcheck.plan.checks.port import port
from healthcheck.plan.checks.self_contained import self_contained
from healthcheck.plan.checks.served_name import served_name
from healthcheck.plan.checks.starts_server import starts_server
from healthcheck.plan.engine_config.facts import EngineConfig
from healthcheck.plan.records import LaunchPlan

CHECKS: tuple[Check[LaunchPlan], ...] = (
    starts_server,
    self_contained,
    chat_api,
    model_path,
    port,
    host,
    served_name,
    no_api_key,
    foreground,
    one_port_each,
    flags,
    one_machine,
)
DEEP_CHECKS: tuple[Check[EngineConfig], ...] = (engine_config,)
"""With `verify --deep` alone: they ask the real vLLM."""
