"""repo/requirements-provided: requirements.txt omits packages that the environment provides."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, check, fail, warn
from healthcheck.stages.repo.facts import Submission
from healthcheck.stages.repo.installs import entries
from healthcheck.stages.repo.packages import IMAGE, installed_by, is_standard, provided_part
from healthcheck.stages.repo.requirements import Form
from healthcheck.text.messages import msg


@check(
    "repo/requirements-provided",
    "requirements.txt omits packages that the environment provides",
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
        expected = msg("no installation of {name}, which the environment provides", name)
        fix, where = msg("remove {text} from the command", text), f"{contract.ENTRY_POINT}:{line}"
        seen = msg("pip install {text}", text)
        yield warn(expected=expected, seen=seen, fix=fix, where=where, evidence={"package": name})
    for entry in entries(submission):
        name, line, file, said = entry.name, entry.line, entry.file, f"“{entry.text}”"
        say, provided = warn, provided_part(name)
        if provided:
            say, expected = fail, msg("no line for {provided}, which the environment provides", provided)
            fix = msg("remove line {line} from {file}: `npu-adapter verify --fix` does it", line, file)
        elif name in IMAGE:
            expected = msg("no line for {name}: {image}", name, IMAGE[name])
            fix = msg("remove line {line} from {file}, and use the image's {name}", line, file, name)
        elif is_standard(name) and entry.form is Form.PACKAGE:
            expected, fix = msg("packages from an index"), msg("remove line {line} from {file}", line, file)
            said = msg(
                "“{quoted}”, a module of Python itself: pip finds no such package, or an unrelated one", entry.text
            )
        else:
            continue
        yield say(expected=expected, seen=said, fix=fix, where=entry.where, evidence={"package": name})
