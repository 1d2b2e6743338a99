"""What the system refused the rehearsed program and need not refuse the service's, which may be root in its image."""

from __future__ import annotations

import re

from healthcheck.plan.facts import LaunchPlan

_REFUSED = re.compile(
    r"permission denied|operation not permitted|read-only file system|cannot modify limit|(?:only|must be) root\b"
    r"|cannot (?:lock|open) /etc/",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?<![\w.~/-])/[^\s:'\"‘’“”,;()]*")
_STARTED_PROGRAM = re.compile(r"(?:^|: )(?:exec: )?(?!/)[^\s:]*/[^:]*: (?:cannot execute: )?Permission denied$")
"""A program of the submission's own folder that is not executable."""


def refused(plan: LaunchPlan, line: str) -> bool:
    """Whether a line says that something was refused outside the submission and the weights."""
    if not _REFUSED.search(line) or _STARTED_PROGRAM.search(line):
        return False
    places = _PLACE.findall(line)
    own = (plan.root, plan.model_path, plan.spaced_model_path or plan.model_path)
    return not any(f"{place}/".startswith(f"{folder}/") for place in places for folder in own)
