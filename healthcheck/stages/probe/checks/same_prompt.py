"""probe/same-prompt: the samples of a problem have the same prompt."""

from __future__ import annotations

from collections.abc import Sequence

from healthcheck.core.check import Findings, NotApplicable, fail, note, warn
from healthcheck.stages.probe.records import ProbeRun, check
from healthcheck.stages.probe.results import figures
from healthcheck.text.messages import msg

_BLOCK = 16
"""Tokens. Blocks of a prefix cache are of this size or of several times as many."""
_CLEARLY_MORE = 3
"""Tokens. A template with the time of day in it has one or two more or fewer; empty thoughts are four."""
_SEVERAL = 3


@check(
    "probe/same-prompt",
    msg("The samples of a problem have the same prompt"),
    why=msg(
        "Answers to other prompts than the problem's own are wrong, or right by another template's instructions."
    ),
)
def same_prompt(run: ProbeRun) -> Findings:
    """The samples of a problem are requests with the same messages, so that a healthy server counts the same
    prompt_tokens for each. Other counts mean that the model read something else: a replica has another chat
    template or version, or a request in flight was given another one's prompt.

    The check warns where the counts of a problem differ. It fails where three problems or more have a later sample
    with at least four tokens more than the first one, unless all counts lie whole blocks of 16 tokens apart: a
    server may leave cached blocks out of the count.

    Repair: send the same request ten times and compare prompt_tokens. Give all replicas the same image, weights and
    --chat-template; without a second replica, look for prompts that requests share.

    Example:
    ```text prompt_tokens of the samples of a problem
    87  112  87  87  112
    ```

    Use instead:

    ```text prompt_tokens of the samples of a problem
    87  87  87  87  87
    ```
    """
    counts = [_counts(run, row) for row in figures.grid(run).rows]
    several = [each for each in counts if len(each) > 1]
    if not several:
        raise NotApplicable(msg("no problem has two samples whose prompt tokens are counted"))
    unlike = [each for each in several if len(set(each)) > 1]
    if not unlike:
        yield note(msg("{problems} problems", problems=len(several)))
        return
    more = [each for each in unlike if max(each) > each[0] + _CLEARLY_MORE and not _cached(each)]
    found = fail if len(more) >= _SEVERAL else warn
    shown = ", ".join(map(str, (more or unlike)[0]))
    yield found(
        expected=msg(
            "as many prompt_tokens for each sample of a problem, whose messages are the same"
        ),
        seen=msg(
            "{shown}; so for {unlike} of {problems} problems",
            shown=shown,
            unlike=len(unlike),
            problems=len(several),
        ),
        fix=msg(
            "compare the chat templates of all replicas, then look for prompts that requests share"
        ),
    )


def _counts(run: ProbeRun, row: Sequence[int]) -> Sequence[int]:
    """The prompt tokens of a problem's samples, as far as the server counts them."""
    return [count for place in row if (count := run.samples[place].prompt_tokens)]


def _cached(counts: Sequence[int]) -> bool:
    """Whether cached blocks that are left out explain the counts."""
    return all((max(counts) - each) % _BLOCK == 0 for each in counts)
