"""The checks of the repo stage in order, each in a module that is named after its id."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.repo.checks.committed import committed
from healthcheck.repo.checks.deploy_sh_present import deploy_sh_present
from healthcheck.repo.checks.deploy_sh_syntax import deploy_sh_syntax
from healthcheck.repo.checks.requirements_parse import requirements_parse
from healthcheck.repo.checks.requirements_provided import requirements_provided
from healthcheck.repo.checks.requirements_stack import requirements_stack
from healthcheck.repo.checks.settings_parse import settings_parse
from healthcheck.repo.facts import Submission

CHECKS: tuple[Check[Submission], ...] = (
    deploy_sh_present,
    committed,
    deploy_sh_syntax,
    settings_parse,
    requirements_parse,
    requirements_provided,
    requirements_stack,
)
