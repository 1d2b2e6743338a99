"""Recognises failures due to the few rights of a dry run: root in the service's image may not have them.

A sandbox lets a script change little outside the submission. Without namespaces, it also has this machine's
programs and files at absolute paths, not those of the image.
"""

from __future__ import annotations

import re

from healthcheck.stages.plan.image import INSTALLED_ONLY, STUBBED
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.missing_files import may_be_file_of_image
from healthcheck.stages.plan.script.stderr import Complaint, Need, last_lines

_DENIAL = re.compile(
    r"permission denied|operation not permitted|read-only file system|cannot modify limit|(?:only|must be) root\b"
    r"|cannot (?:lock|open) /etc/",
    re.IGNORECASE,
)
"""How programs report that they lack a right."""
_CHANGE = re.compile(
    r"\b(?:creat|open|touch|remov|mov|writ|chang|set|preserv|renam|Read-only)", re.IGNORECASE
)
"""How programs name the change that failed: "cannot create", "removing", "Read-only file system"."""
_ABSOLUTE_PATH = re.compile(r"(?<![\w.~/-])/[^\s:'\"‘’“”,;()]*")
_RELATIVE_PATH = re.compile(r"(?<![\w./~-])[\w.-]+/")
_KILL = re.compile(r"\bkill: ")
_FOLDER_CHANGE = re.compile(r": (?:cd|pushd): ")
_DENIED_PATH = re.compile(r"(/[^'’\":\n]+)['’\"]?: Permission denied")
_PART_ENDS = re.compile(r"(?:: |['‘’\"])+")
"""What separates the parts of a message: the program, the action, the path and the error."""
_STARTS_IN_FOLDER = re.compile(r"[^/\s]\S*/")
"""A relative path with a folder."""
_FOLDERS_OF_THE_MACHINE = ("/usr/bin/", "/usr/local/bin/", "/usr/local/Ascend/", "/bin/")
"""Folders of which a sandbox without namespaces has this machine's files, not the image's."""


def reports_denial_outside(plan: LaunchPlan, line: str) -> bool:
    """Whether a line reports an action that was denied outside the submission and the weights.

    A relative path lies in the submission, and a denied signal concerns a process: neither counts.
    """
    if not _DENIAL.search(line) or _RELATIVE_PATH.search(line) or _KILL.search(line):
        return False
    paths = _ABSOLUTE_PATH.findall(line)
    own_folders = (plan.root, plan.model_path, plan.spaced_model_path or plan.model_path)
    return not any(f"{path}/".startswith(f"{folder}/") for path in paths for folder in own_folders)


def reports_denied_change_of_weights(plan: LaunchPlan, line: str) -> bool:
    """Whether a line reports a denied change below MODEL_PATH."""
    is_denied_change = _DENIAL.search(line) is not None and _CHANGE.search(line) is not None
    return is_denied_change and plan.model_path in line


def caused_by_the_sandbox(
    plan: LaunchPlan, complaints: tuple[Complaint, ...]
) -> frozenset[Complaint]:
    """The complaints that a sandbox without namespaces causes, and their consequences.

    In such a sandbox, few folders are writable, and a changed search path hides the stubs. What lies below a path
    that was denied is missing as a consequence. After a `cd` that failed for such a reason, so are relative paths.
    """
    if plan.observed.isolated:
        return frozenset()
    denied_folders = tuple(
        f"{path}/"
        for path in _DENIED_PATH.findall(plan.run.stderr)
        if not _is_in_submission(plan, path)
    )
    caused: set[Complaint] = set()
    in_wrong_folder = False
    for each in complaints:
        is_below_denied = f"{each.name}/".startswith(denied_folders)
        is_misplaced = in_wrong_folder and not each.name.startswith("/")
        is_consequence = each.kind in {Need.FILE, Need.PERMISSION} and (
            is_below_denied or is_misplaced
        )
        if is_consequence or _is_caused_directly(plan, each):
            caused.add(each)
            in_wrong_folder |= _FOLDER_CHANGE.search(each.text) is not None
    return frozenset(caused)


def _is_caused_directly(plan: LaunchPlan, complaint: Complaint) -> bool:
    """Whether the image has the missing thing, or lets root do what the sandbox denied."""
    if complaint.kind not in {Need.FILE, Need.COMMAND, Need.PERMISSION}:
        return False
    name = complaint.name
    if name.startswith(_FOLDERS_OF_THE_MACHINE) or may_be_file_of_image(plan, complaint):
        return True
    if name in STUBBED - INSTALLED_ONLY:
        return True
    is_denied = complaint.kind is Need.PERMISSION or f"cannot create {name}" in complaint.text
    return is_denied and not _is_in_submission(plan, name)


def ends_in_denial_by_the_sandbox(plan: LaunchPlan) -> bool:
    """Whether one of the last lines reports "Permission denied" in a sandbox without namespaces.

    Lines about a path of the submission do not count: the sandbox denies nothing there.
    """
    if plan.observed.isolated:
        return False
    denials = [line for line in last_lines(plan.run) if "Permission denied" in line]
    return not all(_is_about_submission(plan, line) for line in denials)


def _is_about_submission(plan: LaunchPlan, line: str) -> bool:
    """Whether a message, after the name of the program that prints it, has a path of the submission."""
    _, *parts = _PART_ENDS.split(line)
    return any(_is_in_submission(plan, part) for part in parts)


def _is_in_submission(plan: LaunchPlan, path: str) -> bool:
    """Whether a path lies in the submission, which is writable: an error there is about executing a file."""
    return path.startswith(f"{plan.root}/") or _STARTS_IN_FOLDER.match(path) is not None
