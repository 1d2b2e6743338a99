"""numerics/contrast: different prompts have different log-probabilities."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from healthcheck.core.check import Findings, check, fail, note, unsettled
from healthcheck.extensions.numerics.distance import difference
from healthcheck.extensions.numerics.judgement import FAULT
from healthcheck.extensions.numerics.records import NumericsRun, Reading
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg

_LEAST_PROMPTS = 4
_LEAST_APART = 0.5
_DIGITS = 4


@check(
    "numerics/contrast",
    msg("Different prompts have different log-probabilities"),
    stage=NUMERICS,
    why=msg("Where all prompts have the same log-probabilities, equal ones show nothing."),
)
def contrast(run: NumericsRun) -> Findings:
    """The other checks of this stage pass where log-probabilities agree, and those of a server that makes them up
    agree too. So the answers to different prompts are compared first. In half of all cases or more they must differ
    by as much as a fault would move them (1 nat).

    One answer to every prompt is a failure. Log-probabilities that are uniform or the same for every prompt, while
    the answers differ, are made up, by a proxy perhaps: the check is inconclusive, and so is the stage.

    Repair: ask the engine itself, without what stands before it. Where it gives the same answer to everything, look
    for weights that were not loaded (`--load-format dummy`) and for values that are not numbers.

    Simulated by: npu-adapter simulate --fault flat-logprobs

    Example:
    ```text log-probabilities of the most likely tokens
    one prompt: -3.91 -3.91 -3.91 -3.91 -3.91
    another one: -3.91 -3.91 -3.91 -3.91 -3.91
    ```

    Use instead:

    ```text log-probabilities of the most likely tokens
    one prompt: -0.11 -2.50 -4.63 -6.01 -6.35
    another one: -0.87 -1.02 -2.24 -4.10 -5.22
    ```
    """
    readings = [reading for _, reading in run.alone if not reading.error]
    found = [difference(one, other) for one, other in itertools.pairwise(readings)]
    apart = sum(each.shift > FAULT if run.server.logprobs > 1 else each.diverged for each in found)
    same_tokens = _alike(tuple(place.token for place in reading.positions) for reading in readings)
    same_values = _alike(map(_rounded, readings))
    fix = msg("ask the engine itself, without what stands before it")
    if len(readings) < _LEAST_PROMPTS:
        reason = msg(": {text}", text=run.broken[0][1]) if run.broken else ""
        expected = msg("answers to {least_prompts} prompts", least_prompts=_LEAST_PROMPTS)
        seen = msg(
            "{prompts}, and {broken} requests without one{reason}",
            prompts=len(readings),
            broken=len(run.broken),
            reason=reason,
        )
        yield unsettled(
            expected=expected, seen=seen, fix=msg("look for the requests in the server's log")
        )
    elif same_tokens and same_values:
        expected = msg("answers that depend on the prompt")
        seen = msg(
            "the same answer to {prompts} prompts{values}",
            prompts=len(readings),
            values=_values(readings[0]),
        )
        fix = msg("look whether the weights were loaded, and for values that are not numbers")
        yield fail(expected=expected, seen=seen, fix=fix)
    elif same_values:
        expected = msg("log-probabilities that depend on the prompt")
        values = _values(readings[0])
        seen = msg(
            "the same for {prompts} prompts with different answers{values}",
            prompts=len(readings),
            values=values,
        )
        yield unsettled(expected=expected, seen=seen, fix=fix)
    elif apart < _LEAST_APART * len(found):
        expected = msg(
            "answers to different prompts that are apart by more than 1 nat, as a fault would move them"
        )
        seen = msg(
            "{apart} of {pairs} are: what has no token of some likelihood shows no fault",
            apart=apart,
            pairs=len(found),
        )
        yield unsettled(expected=expected, seen=seen, fix=fix)
    else:
        yield note(
            msg(
                "{apart} of {pairs} answers to different prompts are apart",
                apart=apart,
                pairs=len(found),
            )
        )


def _values(reading: Reading) -> str:
    """The log-probabilities of its first token."""
    top = sorted(reading.positions[0].top.values(), reverse=True)
    values = " ".join(f"{value:.2f}" for value in top[:5])
    return msg(", of the log-probabilities {values}", values=values)


def _rounded(reading: Reading) -> frozenset[tuple[float, ...]]:
    """Its log-probabilities without the tokens."""
    tops = (place.top.values() for place in reading.positions)
    return frozenset(tuple(sorted(round(value, _DIGITS) for value in top)) for top in tops)


def _alike(things: Iterable[object]) -> bool:
    return len(set(things)) <= 1
