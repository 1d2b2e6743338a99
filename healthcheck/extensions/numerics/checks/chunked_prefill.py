"""numerics/chunked-prefill: a prefill beside decoding requests does not change log-probabilities."""

from __future__ import annotations

from healthcheck.core.check import Findings, check
from healthcheck.extensions.numerics.findings import LAUNCH_LINE, judged
from healthcheck.extensions.numerics.records import NumericsRun, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg


@check(
    "numerics/chunked-prefill",
    msg("A prefill beside other requests changes no log-probability"),
    stage=NUMERICS,
    why=msg("Under load a prefill shares its steps with decoding requests and is cut into chunks."),
    requires=("numerics/repeat",),
)
def chunked_prefill(run: NumericsRun) -> Findings:
    """Long prompts are asked alone, and while four other requests decode. The scheduler then gives a prefill what
    is left of a step, so that it may take several chunks.

    Log-probabilities that move by more than 1 in too many prompts are a fault, by more than 0.5 a warning;
    docs/numerics.md has the test behind it.

    Repair: `--no-enable-chunked-prefill`, or a larger `--max-num-batched-tokens`, and a report with the requests of
    the evidence.

    Simulated by: npu-adapter simulate --fault chunked-prefill-garbles

    Example:
    ```text log-probability of the first token
    alone: -0.11
    while other requests decode: -2.90
    ```

    Use instead:

    ```text log-probability of the first token
    alone: -0.11
    while other requests decode: -0.10
    ```
    """
    yield from judged(
        run,
        {Relation.WHILE_DECODING},
        fix=msg("add --no-enable-chunked-prefill to {launch_line}", launch_line=LAUNCH_LINE),
    )
