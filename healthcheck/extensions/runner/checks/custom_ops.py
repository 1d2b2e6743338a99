"""runner/custom-ops: vllm-ascend's own operators can be imported."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import IMAGE, NOT_TRIED
from healthcheck.machine.steps import last_line
from healthcheck.text.messages import msg


@npu_check(
    "runner/custom-ops",
    msg("vllm-ascend's own operators can be imported"),
    level=Depth.MINUTES,
    why=msg(
        "Without them vllm-ascend uses slower operators, and a model that needs one of them does not start."
    ),
)
def custom_ops(facts: RunnerFacts) -> Findings:
    """Imports vllm_ascend.vllm_ascend_C in the Python that serves, in a separate process with a deadline, as
    vllm-ascend's own tests do on every NPU. An installation that was built with COMPILE_CUSTOM_KERNELS=0 does not
    have them. They do not load with another torch or CANN than they were built with.

    To repair: use the image of the release, or build vllm-ascend again with the installed torch and CANN.

    Example:
    ```pycon
    >>> import vllm_ascend.vllm_ascend_C
    ModuleNotFoundError: No module named 'vllm_ascend.vllm_ascend_C'
    ```

    Use instead:

    ```pycon
    >>> import vllm_ascend.vllm_ascend_C
    >>> dir(torch.ops._C_ascend)[-1]
    'weak_ref_tensor'
    ```
    """
    trial = facts.operators
    if trial is None:
        absent = msg("torch_npu cannot be imported, or vllm-ascend is not installed")
        raise NotApplicable(facts.stopped or (NOT_TRIED if facts.wanted.replay else absent))
    if trial.module:
        counted = msg(
            "{module} registers {count} operators", module=trial.module, count=trial.count
        )
        yield note(counted if trial.count else msg("{module} was imported", module=trial.module))
        return
    error = next(iter(trial.errors), None)
    text = error.text if error else trial.output.trouble or last_line(trial.output)
    yield warn(
        expected=msg("an import of vllm_ascend.vllm_ascend_C"),
        seen=text[:400] or msg("exit status {status}", status=trial.output.status),
        fix=msg(
            "{image}, or build vllm-ascend again with the installed torch and CANN", image=IMAGE
        ),
        where=error.at if error else facts.software.executable,
    )
