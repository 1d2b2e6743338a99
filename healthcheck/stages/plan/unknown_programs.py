"""Programs and engines that the service's image may have or not, with the reason why that is unknown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from healthcheck.stages.plan import requested
from healthcheck.stages.plan.dry_run.stubs import programs
from healthcheck.stages.plan.foreign_programs import BASH_ONLY, is_foreign
from healthcheck.stages.plan.image import STUBBED, engines_looked_for
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.stderr import Complaint, Need
from healthcheck.text.messages import msg

_LISTED = 4
_ORDINARY_NAME = re.compile(r"[A-Za-z][\w.+-]*")


def reason_program_is_unknown(plan: LaunchPlan, complaint: Complaint) -> str:
    """Why it is unknown whether the service has a missing program; "" if it certainly does not have it."""
    if complaint.kind is not Need.COMMAND:
        return ""
    name = complaint.name
    if name in engines_looked_for(plan.script):
        return reason_engines_are_unknown((name,))
    if not _ORDINARY_NAME.fullmatch(name) or _is_certainly_absent(name):
        return ""
    unknown = requested.packages_of_unknown_programs(plan)
    if not unknown:
        return ""
    return msg(
        "whether an installed package ({packages}) has the program {name} is unknown",
        packages=", ".join(unknown[:_LISTED]),
        name=name,
    )


def _is_certainly_absent(program: str) -> bool:
    """Whether neither the image nor a package of Python has the program."""
    is_known = program in BASH_ONLY or program in STUBBED or is_foreign(program)
    return is_known or bool(programs.package_with(program, programs.OF_SYSTEM))


def reason_engines_are_unknown(engines: Sequence[str]) -> str:
    """Why the outcome of a script that asks for these engines is unknown."""
    return msg(
        "whether the service's image has {engines} is unknown: the official vllm-ascend image does not have it, "
        "and the images for other engines are not documented",
        engines=", ".join(engines),
    )
