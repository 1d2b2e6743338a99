"""The checks of the repo stage, in their order."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.repo.committed import committed
from healthcheck.repo.facts import Submission
from healthcheck.repo.installs import requirements_parse
from healthcheck.repo.packages import requirements_provided, requirements_stack
from healthcheck.repo.presence import deploy_sh_present
from healthcheck.repo.syntax import deploy_sh_syntax

CHECKS: tuple[Check[Submission], ...] = (
    deploy_sh_present,
    committed,
    deploy_sh_syntax,
    requirements_parse,
    requirements_provided,
    requirements_stack,
)
