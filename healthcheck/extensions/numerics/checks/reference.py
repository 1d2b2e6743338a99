"""numerics/reference: log-probabilities match those of the reference."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.extensions.numerics.records import NumericsRun
from healthcheck.extensions.numerics.shift import (
    GARBAGE_KL,
    LEAST_PROMPTS,
    LIKE_ROUNDING,
    SAME_KL,
    Shift,
    shift_of,
)
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg

_NEEDS = msg("torch and transformers with --reference-python")
_LOOK = msg(
    "compare dtype, --quantization, the rope settings and the chat template's weights with those of the reference"
)


@check(
    "numerics/reference",
    msg("Log-probabilities are those of the reference"),
    stage=NUMERICS,
    why=msg(
        "A wrong kernel, a wrong rope base or rough rounding changes every answer alike: no relation shows it."
    ),
    requires=("numerics/repeat",),
)
def reference(run: NumericsRun) -> Findings:
    """Each next token's log-probabilities are compared with the reference's, after the same tokens (teacher
    forcing), by their Kullback-Leibler divergence. A mean below 0.02 nats over prompts is a pass; above it drift, a
    warning; above 0.5, where another text is written, a failure. Where the 95 % interval contains the limit the
    check is inconclusive.

    The reference is a run where the model is known to be right, such as on a GPU: `npu-adapter numerics URL --out
    gpu-numerics`, then `npu-adapter numerics URL --reference gpu-numerics`. Or it is the folder of the weights,
    which transformers computes on this machine: `npu-adapter numerics URL --reference /data/Qwen3-8B`. Then what
    bfloat16 does to these weights is known, and more than 1.5 times that is a warning too.

    Repair: compare what both servers were started with: number format, quantization, rope settings, revision.

    Example:
    ```text mean divergence per token
    0.31 nats (95 % interval 0.22 to 0.41), first choices agree in 78 %
    ```

    Use instead:

    ```text mean divergence per token
    0.001 nats (95 % interval 0.0007 to 0.0015), first choices agree in 99 %
    ```
    """
    if run.unread:
        expected, fix = (
            msg("a reference to compare with"),
            msg("name a Python with {needs}", needs=_NEEDS),
        )
        yield unsettled(expected=expected, seen=run.unread, fix=fix)
        return
    if not run.reference:
        raise NotApplicable(msg("no reference was given: --reference DIR names one"))
    if not run.steps:
        raise NotApplicable(msg("none of the reference's prompts could be asked here"))
    shift = shift_of(run.steps, run.settings.seed)
    seen = words(shift)
    low, high = shift.mean_kl_interval.low, shift.mean_kl_interval.high
    limit = msg("a mean divergence below {same_kl:g} nats per token", same_kl=SAME_KL)
    if low > GARBAGE_KL:
        yield fail(expected=limit, seen=seen, fix=_LOOK)
    elif low > SAME_KL:
        yield warn(expected=limit, seen=seen, fix=_LOOK)
    elif shift.times_rounding_interval and shift.times_rounding_interval.low > LIKE_ROUNDING:
        limit = msg(
            "at most {like_rounding:g} times what bfloat16 does to these weights",
            like_rounding=LIKE_ROUNDING,
        )
        yield warn(expected=limit, seen=seen, fix=_LOOK)
    elif high > SAME_KL or shift.prompts < LEAST_PROMPTS:
        again = msg("make a reference with more prompts: --pairs 40 for both runs")
        yield unsettled(expected=limit, seen=seen, fix=again)
    else:
        yield note(seen)


def words(shift: Shift) -> str:
    """The shift in a sentence."""
    times = ""
    if shift.times_rounding is not None:
        times = msg(
            ", {times:.2g} times what bfloat16 does to these weights", times=shift.times_rounding
        )
    return msg(
        "mean divergence {mean_kl:.2g} nats (95 % interval {low:.2g} to {high:.2g}{times}; 99th "
        "percentile {highest_kl:.2g}) over {tokens} tokens of {prompts} prompts; first choices agree in "
        "{agreement:.1f} %; perplexity {perplexity:.3f} times the reference's",
        mean_kl=shift.mean_kl,
        low=shift.mean_kl_interval.low,
        high=shift.mean_kl_interval.high,
        times=times,
        highest_kl=shift.kl_99,
        tokens=shift.tokens,
        prompts=shift.prompts,
        agreement=100 * shift.agreement,
        perplexity=shift.perplexity_ratio,
    )
