"""runner/custom-ops: vllm-ascend's own operators can be imported."""

from __future__ import annotations

from healthcheck.core.check import Findings, note, warn
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import IMAGE, made
from healthcheck.machine.steps import last_line
from healthcheck.text.messages import msg


@npu_check(
    "runner/custom-ops",
    "vllm-ascend's own operators can be imported",
    level=Depth.MINUTES,
    why="Without them vllm-ascend falls back to slower operators, or a model that needs one does not start.",
)
def custom_ops(facts: RunnerFacts) -> Findings:
    """Imports vllm_ascend.vllm_ascend_C in the Python that serves, in a separate process with a deadline, as
    vllm-ascend's own tests do on every NPU. They are absent from an installation that was built with
    COMPILE_CUSTOM_KERNELS=0, and fail to load beside another torch or CANN than they were built with.

    To repair: use the image of the release, or build vllm-ascend again with the torch and the CANN that are there.

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
    trial = made(facts, facts.operators, msg("torch_npu cannot be imported, or vllm-ascend is not installed"))
    if trial.imported:
        counted = msg("{imported} registers {count} operators", trial.imported, trial.count)
        yield note(counted if trial.count else msg("{imported} imported", trial.imported))
        return
    error = next(iter(trial.errors), None)
    said = error.text if error else trial.output.trouble or last_line(trial.output)
    seen = said[:400] or msg("exit status {status}", trial.output.status)
    fix = msg("{image}, or build vllm-ascend again for the torch and the CANN that are here", IMAGE)
    where = error.at if error else facts.software.executable
    yield warn(expected=msg("an import of vllm_ascend.vllm_ascend_C"), seen=seen, fix=fix, where=where)
