"""numerics/interface: streams, chat and completions have the same log-probabilities."""

from __future__ import annotations

from healthcheck.core.check import Findings, check
from healthcheck.extensions.numerics.findings import judged
from healthcheck.extensions.numerics.records import NumericsRun, Relation
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg


@check(
    "numerics/interface",
    msg("Streams, chat and completions have the same log-probabilities"),
    stage=NUMERICS,
    why=msg(
        "The client streams from the chat endpoint: what is measured elsewhere holds only if both are one model."
    ),
    requires=("numerics/repeat",),
)
def interface(run: NumericsRun) -> Findings:
    """The same prompt is asked in one piece and as a stream. Messages are asked by `{chat_path}`, and the
    tokens that the server made of them (`return_token_ids`) by `/v1/completions`. Both ways lead to one model, so
    that log-probabilities are the same, or differ as rounding does.

    Log-probabilities that move by more than 1 in too many prompts are a fault, by more than 0.5 a warning;
    docs/numerics.md has the test behind it.

    Repair: look at what stands between the client and the model: a logits processor or a default of sampling for
    one of the endpoints, a proxy that rewrites messages, a stream that loses tokens.

    Simulated by: npu-adapter simulate --fault streams-garble

    Example:
    ```text log-probability of the first token
    in one piece: -0.11
    as a stream: -1.90
    ```

    Use instead:

    ```text log-probability of the first token
    in one piece: -0.11
    as a stream: -0.11
    ```
    """
    fix = msg(
        "look at what stands between this endpoint and the model: a logits processor, a proxy"
    )
    yield from judged(run, {Relation.STREAMED, Relation.CHAT}, fix=fix)
