"""The checks of the plan stage in the order of the report, one module for each check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import wraps

from healthcheck.core.check import Check, Findings
from healthcheck.core.records import CheckResult
from healthcheck.stages.plan.checks.ascend_environment import ascend_environment
from healthcheck.stages.plan.checks.chat_api import chat_api
from healthcheck.stages.plan.checks.engine_installed import engine_installed
from healthcheck.stages.plan.checks.flags import flags
from healthcheck.stages.plan.checks.foreground import foreground
from healthcheck.stages.plan.checks.host import host
from healthcheck.stages.plan.checks.keeps_packages import keeps_packages
from healthcheck.stages.plan.checks.model_path import model_path
from healthcheck.stages.plan.checks.no_api_key import no_api_key
from healthcheck.stages.plan.checks.no_arguments import no_arguments
from healthcheck.stages.plan.checks.no_downloads import no_downloads
from healthcheck.stages.plan.checks.no_image_paths import no_image_paths
from healthcheck.stages.plan.checks.no_missing_files import no_missing_files
from healthcheck.stages.plan.checks.no_missing_imports import no_missing_imports
from healthcheck.stages.plan.checks.no_missing_modules import no_missing_modules
from healthcheck.stages.plan.checks.no_missing_programs import no_missing_programs
from healthcheck.stages.plan.checks.no_other_variables import no_other_variables
from healthcheck.stages.plan.checks.one_machine import one_machine
from healthcheck.stages.plan.checks.one_port_each import one_port_each
from healthcheck.stages.plan.checks.port import port
from healthcheck.stages.plan.checks.readiness_poll import readiness_poll
from healthcheck.stages.plan.checks.self_contained import self_contained
from healthcheck.stages.plan.checks.served_name import served_name
from healthcheck.stages.plan.checks.starts_server import starts_server
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.refusals import cautious


def _cautious(check: Check[LaunchPlan]) -> Check[LaunchPlan]:
    @wraps(check.run)
    def run(plan: LaunchPlan) -> Findings:
        return cautious(plan, check.run(plan))

    return replace(check, run=run)


_CHECKS: tuple[Check[LaunchPlan], ...] = (
    starts_server,
    no_arguments,
    no_other_variables,
    no_missing_files,
    no_missing_programs,
    no_missing_modules,
    no_missing_imports,
    engine_installed,
    no_downloads,
    no_image_paths,
    keeps_packages,
    ascend_environment,
    chat_api,
    model_path,
    port,
    host,
    served_name,
    no_api_key,
    foreground,
    readiness_poll,
    one_port_each,
    flags,
    one_machine,
)
CHECKS = tuple(map(_cautious, _CHECKS))
SUMMARIES: tuple[Check[Sequence[CheckResult]], ...] = (self_contained,)
"""Checks of the results of the checks above."""
