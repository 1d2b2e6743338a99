"""Recognises permission errors caused by the sandbox: the script has few rights, but may be root at the service."""

from __future__ import annotations

import re

from healthcheck.stages.plan.image import INSTALLED_ONLY, STUBBED
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.missing_files import may_be_file_of_image
from healthcheck.stages.plan.script.stderr import Complaint, Need, last_lines

_REFUSED = re.compile(
    r"permission denied|operation not permitted|read-only file system|cannot modify limit|(?:only|must be) root\b"
    r"|cannot (?:lock|open) /etc/",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?<![\w.~/-])/[^\s:'\"‘’“”,;()]*")
_OWN = re.compile(r"(?<![\w./~-])[\w.-]+/|\bkill: ")
"""A path relative to the submission's folder, or a process of another user."""
_CHANGE = re.compile(
    r"\b(?:creat|open|touch|remov|mov|writ|chang|set|preserv|renam|Read-only)", re.IGNORECASE
)
_CHANGES_FOLDER = re.compile(r": (?:cd|pushd): ")
_DENIED = re.compile(r"(/[^'’\":\n]+)['’\"]?: Permission denied")
_QUOTE = re.compile(r"(?:: |['‘’\"])+")
_SHIPPED_PROGRAM = re.compile(r"[^/\s]\S*/")
"""A path in the submission's folder, which is writable: an error there is about executing a file."""


def refused(plan: LaunchPlan, line: str) -> bool:
    """Whether a line reports a denied action outside the submission and the weights."""
    if not _REFUSED.search(line) or _OWN.search(line):
        return False
    places = _PLACE.findall(line)
    own = (plan.root, plan.model_path, plan.spaced_model_path or plan.model_path)
    return not any(f"{place}/".startswith(f"{folder}/") for place in places for folder in own)


def refused_weights(plan: LaunchPlan, line: str) -> bool:
    """Whether a line reports a denied change below MODEL_PATH."""
    return (
        _REFUSED.search(line) is not None
        and _CHANGE.search(line) is not None
        and plan.model_path in line
    )


def limits_of_the_sandbox(plan: LaunchPlan, said: tuple[Complaint, ...]) -> frozenset[Complaint]:
    """Errors caused by a sandbox without namespaces, and their consequences.

    Such a sandbox has this machine's programs at absolute paths, not the service's; few folders are writable; and
    a changed search path hides the stubs. If a `cd` failed for that reason, relative paths are wrong, too.
    """
    excused: set[Complaint] = set()
    if plan.observed.isolated:
        return frozenset()
    denied = tuple(
        f"{name}/" for name in _DENIED.findall(plan.run.stderr) if not _is_shipped(plan, name)
    )
    elsewhere = False
    for each in said:
        follows = f"{each.name}/".startswith(denied) or (
            elsewhere and not each.name.startswith("/")
        )
        if (follows and each.kind in {Need.FILE, Need.PERMISSION}) or _is_limit(plan, each):
            excused.add(each)
            elsewhere |= _CHANGES_FOLDER.search(each.text) is not None
    return frozenset(excused)


def is_refused(plan: LaunchPlan) -> bool:
    """Whether the last lines report an action that a sandbox without namespaces denied."""
    lines = [line for line in last_lines(plan.run) if "Permission denied" in line]
    ours = [
        line for line in lines if any(_is_shipped(plan, name) for name in _QUOTE.split(line)[1:])
    ]
    return not plan.observed.isolated and len(lines) > len(ours)


def _is_shipped(plan: LaunchPlan, name: str) -> bool:
    return name.startswith(f"{plan.root}/") or _SHIPPED_PROGRAM.match(name) is not None


def _is_limit(plan: LaunchPlan, said: Complaint) -> bool:
    if said.kind not in {Need.FILE, Need.COMMAND, Need.PERMISSION}:
        return False
    of_the_image = said.name.startswith(
        ("/usr/bin/", "/usr/local/bin/", "/usr/local/Ascend/", "/bin/")
    )
    of_the_image |= may_be_file_of_image(plan, said)
    refused = said.kind is Need.PERMISSION or f"cannot create {said.name}" in said.text
    return (
        of_the_image
        or said.name in STUBBED - INSTALLED_ONLY
        or (refused and not _is_shipped(plan, said.name))
    )
