"""runner/supported: vllm-ascend runs on these chips."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg


@npu_check(
    "runner/supported",
    msg("vllm-ascend supports this kind of NPU"),
    why=msg("On other kinds the platform's engine does not start."),
)
def supported(facts: RunnerFacts) -> Findings:
    """vllm-ascend runs on the 910B family (A2), 910C (A3), 950 and 310P. It does not
    support the 910A, the 910 Pro B and the 310B (200I A2); source: its FAQ.

    To repair: use another machine or another engine.

    Example:
    ```console
    $ npu-smi info | grep 910
    | 0     910ProB             | OK            | 93.1        41                0    / 0             |
    ```

    Use instead:

    ```console
    $ npu-smi info | grep 910
    | 0     910B3               | OK            | 93.1        41                0    / 0             |
    ```
    """
    kinds = facts.kinds
    if not kinds:
        raise NotApplicable(msg("the kind of NPU is not known"))
    if not any(kind.served for kind in kinds):
        fix = msg("use another machine; vllm-ascend does not support this kind")
        yield warn(
            expected=msg("a 910B, 910C, 950 or 310P"),
            seen=msg("a {kind}", kind=kinds[0].name),
            fix=fix,
        )
