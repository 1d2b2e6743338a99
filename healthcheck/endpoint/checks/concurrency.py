"""endpoint/concurrency: parallel streams are all served, each with its own text."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, warn
from healthcheck.endpoint.answers import answered
from healthcheck.endpoint.crowd import changed_answers, changed_copies, crowd_talk
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Stage

_MIXED = 3
"""Of 28 answers beside others. A model that hardly copies may trip over one word and find back; not over three that
it repeats when it is alone."""


@check(
    "endpoint/concurrency",
    "Parallel streams are all served, each with its own text",
    stage=Stage.ENDPOINT,
    why="The client sends requests side by side, and none again after a status other than 200.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def concurrency(interview: Interview) -> Findings:
    """Sixteen streams at once, each told to repeat a line of its own, must all be answered, and none may say
    another's code word or give another prompt's answer. Waiting is fine: the client has no time-out. A refusal is
    not: it counts 429 and 503 as final.

    What a stream says beside others is compared with the line, or else with what it says alone. Batches of another
    size round otherwise, and a model near a tie then goes another way, for good. A text that differs and falls back
    into step was changed on its way: tokens of two streams were mixed, or their order was.

    Repair: queue requests instead of refusing them; give each its turn; keep the state of each request apart from
    the others'.
    Simulated by: npu-adapter simulate --fault cross-talk (busy, hangs-in-a-crowd, mixes-tokens,
    swaps-tokens)

    Example:
    ```text line to repeat, and the answer beside others
    kalo77 red house   → kalo77 red house
    miru12 blue river  → kalo77 red river
    ```

    Use instead:

    ```text line to repeat, and the answer beside others
    kalo77 red house   → kalo77 red house
    miru12 blue river  → miru12 blue river
    ```
    """
    crowd = interview.crowd
    if crowd is None:
        raise NotApplicable("no parallel streams were tried")
    streams = [exchange for exchanges in crowd.rounds for exchange in exchanges]
    lost = [exchange for exchange in streams if not answered(exchange)]
    if lost:
        yield fail(
            expected=f"{len(crowd.lines)} streams at once, all answered",
            seen=f"{len(lost)} of {len(streams)} were not: {what_came(lost[0])}",
            fix="look for a lock or slot that is not released"
            if lost[0].error
            else "queue requests instead of refusing them: the evaluation client does not ask again",
            where=asked(lost[0]),
        )
    signs = crowd_talk(crowd)
    if signs:
        yield fail(
            expected="each stream with the answer to its own prompt",
            seen=f"{signs[0]}; {len(signs)} such signs",
            fix="keep the state of each request apart: a shared streamer or buffer mixes them",
            where=asked(streams[0]),
        )
    elif len(mixed := changed_copies(crowd)) >= _MIXED:
        text, right = mixed[0]
        yield fail(
            expected=f"what the stream says alone: {shown(right, 120)}",
            seen=f"beside others: {shown(text, 120)}, and on in step; {len(mixed)} streams so",
            fix="keep the pieces of each stream apart and in order: a shared buffer or a queue mixes them",
            where=asked(streams[0]),
        )
    elif not lost and (changed := changed_answers(crowd)):
        yield warn(
            expected="the same answers when the same prompts come again side by side, at temperature 0",
            seen=f"{len(changed)} of {len(crowd.rounds[1])} said their line once only: {', '.join(changed[:2])}",
            fix="look for state that requests share; ask the same prompts one at a time and compare",
            where=asked(streams[0]),
            evidence={"changed_answers": len(changed), "repeats": len(crowd.rounds[1])},
        )
