"""Facts about the files that messages of deploy.sh report as missing."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from healthcheck.stages.plan.image import may_be_in_image
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.stderr import Complaint, Need

_ENVIRONMENT = re.compile(
    r"/(?:bin/(?:activate|python|pip)|etc/profile\.d/conda|envs/)|conda|venv|virtualenv|pyenv"
)
_REDIRECTION = re.compile(r">>?\s*[\"']?([^\s\"'&;|]+)")


def is_in_environment(path: str) -> bool:
    """Whether a path belongs to a Python environment, of conda or venv for example."""
    return _ENVIRONMENT.search(path) is not None


def is_file_of_environment(complaint: Complaint) -> bool:
    """Whether the missing thing is a file of a Python environment."""
    return complaint.kind is Need.FILE and is_in_environment(complaint.name)


def may_be_file_of_image(plan: LaunchPlan, complaint: Complaint) -> bool:
    """Whether the missing thing is a file that the official vllm-ascend image, and so the service's, may have."""
    if complaint.kind is not Need.FILE:
        return False
    number = complaint.line or deploy_sh.find_line(plan.script, [complaint.name])
    folder = deploy_sh.folder_at(plan.script, number, complaint.name) if number else ""
    return may_be_in_image(str(PurePosixPath(folder, complaint.name)))


def is_file_to_write(plan: LaunchPlan, complaint: Complaint) -> bool:
    """Whether the failed line writes the file, so that its folder is what is missing."""
    targets = _REDIRECTION.findall(deploy_sh.line_at(plan.script, complaint.line))
    file_name = PurePosixPath(complaint.name).name
    is_target = any("$" in target or PurePosixPath(target).name == file_name for target in targets)
    return "/" in complaint.name and ("cannot create" in complaint.text or is_target)
