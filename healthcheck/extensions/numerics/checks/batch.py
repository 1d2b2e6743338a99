"""numerics/batch: a prompt has the same log-probabilities in a batch."""

from __future__ import annotations

from healthcheck.core.check import Findings, check
from healthcheck.extensions.numerics.findings import LAUNCH_LINE, judged
from healthcheck.extensions.numerics.records import NumericsRun, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg


@check(
    "numerics/batch",
    msg("A batch does not change log-probabilities"),
    stage=NUMERICS,
    why=msg(
        "The client sends many problems at once: a wrong batch size loses the answers of that size alone."
    ),
    requires=("numerics/repeat",),
)
def batch(run: NumericsRun) -> Findings:
    """Prompts are asked alone, and in batches of 2 to 8 and of the largest size, of equal and of different length.
    Where a prompt moved, the same place of the same batch size is asked again. The finding names the batch size, so
    that a wrong graph bucket or a slot that reads its neighbour's cache stands out.

    Log-probabilities that move by more than 1 in too many prompts are a fault, by more than 0.5 a warning;
    docs/numerics.md has the test behind it.

    Repair: run with `--enforce-eager`. If that is sound, a captured graph is wrong: leave its size out of
    `cudagraph_capture_sizes` in `--compilation-config`.

    Simulated by: npu-adapter simulate --fault one-batch-size-garbles (one-row-garbles)

    Example:
    ```text log-probability of the first token
    alone: -0.11
    in a batch of 3: -6.02
    ```

    Use instead:

    ```text log-probability of the first token
    alone: -0.11
    in a batch of 3: -0.12
    ```
    """
    fix = msg(
        "try --enforce-eager in {launch_line}; if that is sound, leave this size out of cudagraph_capture_sizes",
        launch_line=LAUNCH_LINE,
    )
    yield from judged(run, {Relation.BATCH, Relation.MIXED_LENGTHS}, fix=fix)
