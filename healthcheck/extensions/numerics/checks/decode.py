"""numerics/decode: decoded and prefilled tokens have the same log-probabilities."""

from __future__ import annotations

from healthcheck.core.check import Findings, check
from healthcheck.extensions.numerics.findings import LAUNCH_LINE, judged
from healthcheck.extensions.numerics.records import NumericsRun, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg


@check(
    "numerics/decode",
    msg("Decoding and prefill give the same log-probabilities"),
    stage=NUMERICS,
    why=msg(
        "Decoding runs other kernels than a prefill, or a graph of its own, and every answer is decoded."
    ),
    requires=("numerics/repeat",),
)
def decode(run: NumericsRun) -> Findings:
    """A greedy completion of eight tokens is decoded. Then the prompt with its first 1, 4 and 7 tokens is
    prefilled: the next token must have the log-probabilities that it had when it was decoded.

    Log-probabilities that move by more than 1 in too many prompts are a fault, by more than 0.5 a warning;
    docs/numerics.md has the test behind it.

    Repair: run with `--enforce-eager`; if that is sound, `--compilation-config '{"cudagraph_mode": "PIECEWISE"}'`.

    Simulated by: npu-adapter simulate --fault decode-drifts (long-prompts-drift)

    Example:
    ```text log-probability of the fifth token
    decoded: -5.20
    prefilled: -0.08
    ```

    Use instead:

    ```text log-probability of the fifth token
    decoded: -0.09
    prefilled: -0.08
    ```
    """
    fix = msg(
        "try --enforce-eager in {launch_line}; if that is sound, a cudagraph_mode of PIECEWISE",
        launch_line=LAUNCH_LINE,
    )
    yield from judged(run, {Relation.DECODED}, fix=fix)
