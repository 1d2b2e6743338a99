"""repo/requirements-provided: requirements.txt omits packages that the environment provides."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, warn
from healthcheck.messages import msg
from healthcheck.records import Stage
from healthcheck.repo.facts import Submission
from healthcheck.repo.installs import entries
from healthcheck.repo.packages import IMAGE, installed_by, is_standard, provided_part
from healthcheck.repo.requirements import Form


@check(
    "repo/requirements-provided",
    "requirements.txt omits packages that the environment provides",
    stage=Stage.REPO,
    rule=contract.PROVIDED,
    why="A second torch-npu or CANN package replaces the one that fits the machine's driver, or fails to install.",
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
        raise NotApplicable(msg("there is no {requirements}", contract.REQUIREMENTS))
    for line, text, name in installed:
        yield warn(
            expected=msg("no installation of {name}, which the environment provides", name),
            seen=msg("pip install {text}", text),
            fix=msg("remove {text} from the command", text),
            where=f"{contract.ENTRY_POINT}:{line}",
            evidence={"package": name},
        )
    for entry in entries(submission):
        provided = provided_part(entry.name)
        if provided:
            yield fail(
                expected=msg("no line for {provided}, which the environment provides", provided),
                seen=f"“{entry.text}”",
                fix=msg(
                    "remove line {line} from {file}: `npu-adapter verify --fix` does it", entry.line, entry.file
                ),
                where=entry.where,
                evidence={"package": entry.name},
            )
        elif entry.name in IMAGE:
            yield warn(
                expected=msg("no line for {name}: {image}", entry.name, IMAGE[entry.name]),
                seen=f"“{entry.text}”",
                fix=msg(
                    "remove line {line} from {file}, and use the image's {name}", entry.line, entry.file, entry.name
                ),
                where=entry.where,
                evidence={"package": entry.name},
            )
        elif is_standard(entry.name) and entry.form is Form.PACKAGE:
            yield warn(
                expected=msg("packages from an index"),
                seen=msg(
                    "“{quoted}”, a module of Python itself: pip finds no such package, or an unrelated one",
                    entry.text,
                ),
                fix=msg("remove line {line} from {file}", entry.line, entry.file),
                where=entry.where,
                evidence={"package": entry.name},
            )
