"""repo/requirements-provided: requirements.txt omits packages that the environment provides."""

from __future__ import annotations

import enum

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, check, fail, warn
from healthcheck.core.edits import in_words
from healthcheck.core.records import Finding, JsonValue
from healthcheck.stages.repo.installs import entries, without
from healthcheck.stages.repo.packages import IMAGE, installed_by, is_standard, provided_part
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.repo.requirements import Entry, Form
from healthcheck.text.messages import joined, msg

MOST_QUOTED = 8


@check(
    "repo/requirements-provided",
    msg("requirements.txt omits packages that the environment provides"),
    rule=contract.PROVIDED,
    why=msg(
        "A second torch-npu or CANN package replaces the one that fits the machine's driver, or fails to install."
    ),
)
def requirements_provided(submission: Submission) -> Findings:
    """The environment provides Torch NPU, CANN and Python; the service's rule is not to install them again.

    torch-npu, Python and the packages of the CANN toolkit (te, hccl, …) fail, by the documented rule. torch,
    torchvision, torchaudio, vllm, vllm-ascend, triton and triton-ascend warn: the rule does not name them, but they
    are versioned together, and installing one of them changes the others.

    A `pip install` of one of them in deploy.sh warns too.

    Repair: remove the lines; `npu-adapter verify --fix` does it. A line for another system, such as
    `torch==2.1.0; sys_platform == "darwin"`, is ignored.

    Example:
    ```text requirements.txt
    torch-npu==2.9.0
    einops==0.8.0
    ```

    Use instead:

    ```text requirements.txt
    einops==0.8.0
    ```
    """
    installed = tuple(installed_by((submission.deploy_sh or b"").decode("utf-8", "replace")))
    if submission.requirements is None and not installed:
        raise NotApplicable(msg("there is no {requirements}", requirements=contract.REQUIREMENTS))
    for line, text, name in installed:
        expected = msg("no installation of {name}, which the environment provides", name=name)
        fix, where = (
            msg("remove {text} from the command", text=text),
            f"{contract.ENTRY_POINT}:{line}",
        )
        seen = msg("pip install {text}", text=text)
        yield warn(expected=expected, seen=seen, fix=fix, where=where, evidence={"package": name})
    groups: dict[tuple[str, _Why], list[Entry]] = {}
    for entry in entries(submission):
        why = _why(entry)
        if why:
            groups.setdefault((entry.file, why), []).append(entry)
    for (_, why), found in groups.items():
        yield _superfluous(submission, why, found)


class _Why(enum.Enum):
    """Why a line is superfluous."""

    PROVIDED = "provided"
    OF_THE_IMAGE = "of the image"
    STANDARD = "standard library"


def _why(entry: Entry) -> _Why | None:
    if provided_part(entry.name):
        return _Why.PROVIDED
    if entry.name in IMAGE:
        return _Why.OF_THE_IMAGE
    return _Why.STANDARD if is_standard(entry.name) and entry.form is Form.PACKAGE else None


def _superfluous(submission: Submission, why: _Why, found: list[Entry]) -> Finding:
    """One finding for all lines of a file with the same reason, so that one repair removes them."""
    seen: str = joined(", ", [f"“{entry.text}”" for entry in found[:MOST_QUOTED]])
    if len(found) > MOST_QUOTED:
        seen = msg("{lines} and {count} more", lines=seen, count=len(found) - MOST_QUOTED)
    say = fail if why is _Why.PROVIDED else warn
    expected: str = msg("packages from an index")
    if why is _Why.PROVIDED:
        parts = dict.fromkeys(provided_part(entry.name) for entry in found)
        expected = msg(
            "no line for {provided}, which the environment provides", provided=joined(", ", parts)
        )
    elif why is _Why.OF_THE_IMAGE:
        reasons = [
            msg("no line for {name}: {image}", name=entry.name, image=IMAGE[entry.name])
            for entry in found
        ]
        expected = joined("; ", dict.fromkeys(reasons))
    else:
        seen = msg(
            "{lines}: a module of Python itself; pip finds no such package, or an unrelated one",
            lines=seen,
        )
    edits = without(submission, found)
    fix = in_words(edits) or msg(
        "remove these lines from {file}: {lines}", file=found[0].file, lines=seen
    )
    evidence: dict[str, JsonValue] = {
        "package": found[0].name,
        "packages": [entry.name for entry in found],
    }
    return say(
        expected=expected, seen=seen, fix=fix, where=found[0].where, evidence=evidence, edits=edits
    )
