"""What was refused to the rehearsed program, which is not the root that the service's may be in its image."""

from __future__ import annotations

import re

from healthcheck.plan.records import LaunchPlan

_REFUSED = re.compile(
    r"permission denied|operation not permitted|read-only file system|cannot modify limit|(?:only|must be) root\b"
    r"|cannot (?:lock|open) /etc/",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?<![\w.~/-])/[^\s:'\"‘’“”,;()]*")
_OWN = re.compile(r"(?<![\w./~-])[\w.-]+/|\bkill: ")
"""A place relative to the submission's folder, and a process of another user's."""
_CHANGE = re.compile(r"\b(?:creat|open|touch|remov|mov|writ|chang|set|preserv|renam|Read-only)", re.IGNORECASE)


def refused(plan: LaunchPlan, line: str) -> bool:
    """Whether a line says that something was refused outside the submission and the weights."""
    if not _REFUSED.search(line) or _OWN.search(line):
        return False
    places = _PLACE.findall(line)
    own = (plan.root, plan.model_path, plan.spaced_model_path or plan.model_path)
    return not any(f"{place}/".startswith(f"{folder}/") for place in places for folder in own)


def refused_weights(plan: LaunchPlan, line: str) -> bool:
    """Whether a line says that something below MODEL_PATH may not be changed."""
    return _REFUSED.search(line) is not None and _CHANGE.search(line) is not None and plan.model_path in line
