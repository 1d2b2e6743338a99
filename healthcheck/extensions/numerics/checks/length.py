"""numerics/length: prompts of every length are answered correctly."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.core.check import Findings, check, fail, unsettled
from healthcheck.core.records import Finding
from healthcheck.extensions.numerics.findings import LAUNCH_LINE, judged
from healthcheck.extensions.numerics.records import NumericsRun, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg


@check(
    "numerics/length",
    msg("No length of a prompt goes wrong"),
    stage=NUMERICS,
    why=msg(
        "A wrong padding mask or an overflow shows at some lengths alone, and problems have many lengths."
    ),
    requires=("numerics/repeat",),
)
def length(run: NumericsRun) -> Findings:
    """Prompts whose length is just below, at and just above what engines divide by (blocks of 16 and 128 tokens,
    graph sizes that are powers of two, the chunk of a prefill), and one near the end of the context. From each the
    completion is decoded across the edge, and prefilled beyond it: both must give the same log-probabilities. A
    length that is answered with an error or with a value that is not a number is a fault by itself.

    A fault that all requests of a length share is not seen without a reference: see numerics/reference.

    Repair: run with `--enforce-eager`; where long prompts alone are wrong, look at the rope settings of config.json
    and at the number format (float16 overflows where bfloat16 does not).

    Simulated by: npu-adapter simulate --fault one-length-garbles

    Example:
    ```text answers by length of the prompt
    127, 128: log-probabilities agree
    129: moved by 6.2
    ```

    Use instead:

    ```text answers by length of the prompt
    127, 128, 129: log-probabilities agree
    ```
    """
    if run.broken:
        yield from _broken(run)
    if not run.broken or any(pair.relation is Relation.AT_EDGE for pair in run.pairs):
        fix = msg(
            "try --enforce-eager in {launch_line}; then a --max-model-len below the length that goes wrong",
            launch_line=LAUNCH_LINE,
        )
        yield from judged(run, {Relation.AT_EDGE}, fix=fix)


def _broken(run: NumericsRun) -> Iterator[Finding]:
    """Lengths without an answer; one finding for the shortest of each kind."""
    found: dict[bool, tuple[int, str]] = {}
    for tokens, reason in sorted(run.broken):
        refused = "context" in reason or not reason.startswith(("HTTP", "nan", "inf"))
        found.setdefault(not refused, (tokens, reason))
    expected, fix = (
        msg("an answer at every length"),
        msg("look for the request in the server's log"),
    )
    unit = "tokens" if run.server.takes_ids else "characters"
    for faulty, (tokens, reason) in found.items():
        seen = msg(
            "prompt of {tokens} {unit}: {reason} ({broken} of {requests} requests)",
            tokens=tokens,
            unit=unit,
            reason=reason,
            broken=len(run.broken),
            requests=run.requests,
        )
        make = fail if faulty else unsettled
        yield make(expected=expected, seen=seen, fix=fix)
