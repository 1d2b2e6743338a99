"""numerics/prefix-cache: a cached prefix does not change log-probabilities."""

from __future__ import annotations

from healthcheck.core.check import Findings, check
from healthcheck.extensions.numerics.findings import LAUNCH_LINE, judged
from healthcheck.extensions.numerics.records import NumericsRun, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg


@check(
    "numerics/prefix-cache",
    msg("A prefix in the cache changes no log-probability"),
    stage=NUMERICS,
    why=msg(
        "The {repeats} samples of a problem share their prompt: with a broken prefix cache all but the first are "
        "garbage."
    ),
    requires=("numerics/repeat",),
)
def prefix_cache(run: NumericsRun) -> Findings:
    """Long prompts are asked with nothing of them in the cache, then with all of their blocks in it, then after
    another prompt with the same first two thirds. A wrong hit shows from the second request on, as in vllm-ascend's
    issue 5269.

    Log-probabilities that move by more than 1 in too many prompts are a fault, by more than 0.5 a warning;
    docs/numerics.md has the test behind it.

    Repair: `--no-enable-prefix-caching`, and a report to vllm-ascend with the two requests of the evidence.

    Simulated by: npu-adapter simulate --fault prefix-cache-garbles

    Example:
    ```text log-probability of the first token
    first time: -0.11
    second time: -4.75
    ```

    Use instead:

    ```text log-probability of the first token
    first time: -0.11
    second time: -0.11
    ```
    """
    fix = msg("add --no-enable-prefix-caching to {launch_line}", launch_line=LAUNCH_LINE)
    yield from judged(run, {Relation.WARM_PREFIX, Relation.SHARED_PREFIX}, fix=fix)
