"""numerics/contrast: different prompts have different log-probabilities."""

from __future__ import annotations

from healthcheck.check import Findings, check, fail, note, unsettled
from healthcheck.messages import msg
from healthcheck.numerics.contrast import LEAST_APART, LEAST_PROMPTS, Contrast, contrast_of
from healthcheck.numerics.records import NumericsRun
from healthcheck.records import Stage


@check(
    "numerics/contrast",
    "Different prompts have different log-probabilities",
    stage=Stage.NUMERICS,
    why="Where all prompts have the same log-probabilities, equal ones show nothing.",
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
    found = contrast_of(run)
    fix = msg("ask the engine itself, without what stands before it")
    if found.prompts < LEAST_PROMPTS:
        yield unsettled(
            expected=msg("answers to {least_prompts} prompts", LEAST_PROMPTS),
            seen=msg(
                "{prompts}, and {broken} requests without one{reason}", found.prompts, len(run.broken), _reason(run)
            ),
            fix=msg("look for the requests in the server's log"),
        )
    elif found.same_tokens and (found.same_values or not run.server.logprobs):
        yield fail(
            expected=msg("answers that depend on the prompt"),
            seen=msg("the same answer to {prompts} prompts{values}", found.prompts, _values(found)),
            fix=msg("look whether the weights were loaded, and for values that are not numbers"),
        )
    elif found.same_values:
        yield unsettled(
            expected=msg("log-probabilities that depend on the prompt"),
            seen=msg(
                "the same for {prompts} prompts with different answers{values}", found.prompts, _values(found)
            ),
            fix=fix,
        )
    elif found.apart < LEAST_APART * found.pairs:
        yield unsettled(
            expected=msg(
                "answers to different prompts that are apart by more than 1 nat, as a fault would move them"
            ),
            seen=msg(
                "{apart} of {pairs} are: what has no token of some likelihood shows no fault",
                found.apart,
                found.pairs,
            ),
            fix=fix,
        )
    else:
        yield note(msg("{apart} of {pairs} answers to different prompts are apart", found.apart, found.pairs))


def _values(found: Contrast) -> str:
    values = " ".join(f"{value:.2f}" for value in found.example[:5])
    return msg(", of the log-probabilities {values}", values) if values else ""


def _reason(run: NumericsRun) -> str:
    return f": {run.broken[0][1]}" if run.broken else ""
