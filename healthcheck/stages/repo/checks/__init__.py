"""The checks of the repo stage in order, each in a module named after its id."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.stages.repo.checks.committed import committed
from healthcheck.stages.repo.checks.deploy_sh_present import deploy_sh_present
from healthcheck.stages.repo.checks.deploy_sh_syntax import deploy_sh_syntax
from healthcheck.stages.repo.checks.no_secrets import no_secrets
from healthcheck.stages.repo.checks.requirements_parse import requirements_parse
from healthcheck.stages.repo.checks.requirements_provided import requirements_provided
from healthcheck.stages.repo.checks.requirements_stack import requirements_stack
from healthcheck.stages.repo.checks.settings_parse import settings_parse
from healthcheck.stages.repo.records import Submission

CHECKS: tuple[Check[Submission], ...] = (
    deploy_sh_present,
    committed,
    deploy_sh_syntax,
    no_secrets,
    settings_parse,
    requirements_parse,
    requirements_provided,
    requirements_stack,
)
