"""numerics/repeat: the same request has the same log-probabilities."""

from __future__ import annotations

from healthcheck.core.check import Findings, check
from healthcheck.extensions.numerics.findings import LAUNCH_LINE, judged
from healthcheck.extensions.numerics.records import NumericsRun, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg


@check(
    "numerics/repeat",
    msg("The same request has the same log-probabilities"),
    stage=NUMERICS,
    why=msg("What repetition alone moves is noise in every answer, and hides what else is wrong."),
    requires=("numerics/contrast",),
)
def repeat(run: NumericsRun) -> Findings:
    """The same prompt is asked alone, twice, and after a request that its client cancelled. Greedy
    log-probabilities of one server are then the same, or differ as rounding does.

    Log-probabilities that move by more than 1 in too many prompts are a fault, by more than 0.5 a warning;
    docs/numerics.md has the test behind it.

    Repair: look for state that requests share: uninitialised memory, a slot that is not cleared after an abort,
    overlapping streams. Try `--enforce-eager`, then `--no-async-scheduling` where the release has it.

    Simulated by: npu-adapter simulate --fault never-repeats

    Example:
    ```text log-probability of the first token
    alone: -0.11
    alone, again: -3.40
    ```

    Use instead:

    ```text log-probability of the first token
    alone: -0.11
    alone, again: -0.11
    ```
    """
    fix = msg(
        "try --enforce-eager in {launch_line}; then compare the two requests of the evidence",
        launch_line=LAUNCH_LINE,
    )
    yield from judged(run, {Relation.AGAIN, Relation.AFTER_ABORT}, fix=fix)
