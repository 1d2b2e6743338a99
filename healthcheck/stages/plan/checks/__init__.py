"""The checks of the plan stage in the order of the report, one module for each check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import wraps

from healthcheck.core.check import Check, Findings
from healthcheck.core.records import CheckResult, Finding
from healthcheck.stages.plan.checks.any_processor import any_processor
from healthcheck.stages.plan.checks.ascend_environment import ascend_environment
from healthcheck.stages.plan.checks.chat_api import chat_api
from healthcheck.stages.plan.checks.device_memory import device_memory
from healthcheck.stages.plan.checks.engine_installed import engine_installed
from healthcheck.stages.plan.checks.engine_variables import engine_variables
from healthcheck.stages.plan.checks.flags import flags
from healthcheck.stages.plan.checks.foreground import foreground
from healthcheck.stages.plan.checks.front import front
from healthcheck.stages.plan.checks.guarded_main import guarded_main
from healthcheck.stages.plan.checks.host import host
from healthcheck.stages.plan.checks.keeps_packages import keeps_packages
from healthcheck.stages.plan.checks.kills_only_its_own import kills_only_its_own
from healthcheck.stages.plan.checks.model_path import model_path
from healthcheck.stages.plan.checks.network_interfaces import network_interfaces
from healthcheck.stages.plan.checks.no_api_key import no_api_key
from healthcheck.stages.plan.checks.no_arguments import no_arguments
from healthcheck.stages.plan.checks.no_carriage_returns import no_carriage_returns
from healthcheck.stages.plan.checks.no_downloads import no_downloads
from healthcheck.stages.plan.checks.no_image_paths import no_image_paths
from healthcheck.stages.plan.checks.no_missing_files import no_missing_files
from healthcheck.stages.plan.checks.no_missing_imports import no_missing_imports
from healthcheck.stages.plan.checks.no_missing_modules import no_missing_modules
from healthcheck.stages.plan.checks.no_missing_programs import no_missing_programs
from healthcheck.stages.plan.checks.no_other_variables import no_other_variables
from healthcheck.stages.plan.checks.no_shadowed_modules import no_shadowed_modules
from healthcheck.stages.plan.checks.one_machine import one_machine
from healthcheck.stages.plan.checks.one_port_each import one_port_each
from healthcheck.stages.plan.checks.port import port
from healthcheck.stages.plan.checks.readiness_poll import readiness_poll
from healthcheck.stages.plan.checks.self_contained import self_contained
from healthcheck.stages.plan.checks.served_name import served_name
from healthcheck.stages.plan.checks.starts_server import starts_server
from healthcheck.stages.plan.checks.working_directory import working_directory
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.refusals import unsettle_failures
from healthcheck.stages.plan.servers.fronts.route import for_each_answering


def _unsettled_after_refusals(check: Check[LaunchPlan]) -> Check[LaunchPlan]:
    @wraps(check.run)
    def run(plan: LaunchPlan) -> Findings:
        return unsettle_failures(plan, check.run(plan))

    return replace(check, run=run)


def _behind_a_front(check: Check[LaunchPlan]) -> Check[LaunchPlan]:
    """The check for each server that answers chats; a finding that several of them have is reported once."""

    @wraps(check.run)
    def run(plan: LaunchPlan) -> Findings:
        found: list[Finding] = []
        for each in for_each_answering(plan, check.id):
            found += [finding for finding in check.run(each) if finding not in found]
        yield from found

    return replace(check, run=run)


_CHECKS: tuple[Check[LaunchPlan], ...] = (
    starts_server,
    no_arguments,
    no_other_variables,
    no_missing_files,
    working_directory,
    no_missing_programs,
    no_missing_modules,
    no_missing_imports,
    no_shadowed_modules,
    guarded_main,
    engine_installed,
    no_downloads,
    no_image_paths,
    any_processor,
    keeps_packages,
    kills_only_its_own,
    ascend_environment,
    front,
    chat_api,
    no_carriage_returns,
    model_path,
    port,
    host,
    served_name,
    no_api_key,
    foreground,
    readiness_poll,
    one_port_each,
    device_memory,
    flags,
    engine_variables,
    one_machine,
    network_interfaces,
)
_OF_THE_ENGINE = {
    no_missing_files, no_missing_modules, no_downloads, no_image_paths, ascend_environment, chat_api, model_path,
    served_name, no_api_key, flags,
}  # fmt: skip
"""Checks of the server that computes the answers; the others judge the one that the service connects to."""
CHECKS = tuple(
    _unsettled_after_refusals(_behind_a_front(check) if check in _OF_THE_ENGINE else check)
    for check in _CHECKS
)
SUMMARIES: tuple[Check[Sequence[CheckResult]], ...] = (self_contained,)
"""Checks of the results of the checks above."""
