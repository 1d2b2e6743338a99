"""endpoint/concurrency: parallel streams are all served, each with its own text."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, note
from healthcheck.stages.endpoint.answers import about, answered, response_of, shown
from healthcheck.stages.endpoint.crowd import (
    MIXED,
    changed_answers,
    changed_copies,
    crowd_talk,
    only_changed,
)
from healthcheck.stages.endpoint.lone_streams import changed_alone
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg


@check(
    "endpoint/concurrency",
    msg("Parallel streams are all served, each with its own text"),
    why=msg(
        "The client sends requests concurrently, and does not retry after a status other than 200."
    ),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def concurrency(interview: Interview) -> Findings:
    """{streams} concurrent streams, each with its own line to repeat, must all be answered, and none may contain
    another's code word or the answer to another prompt. They may wait, since the client has no time-out. They may
    not be refused: 429 and 503 are final for the client.

    The text of each stream is compared with its line, or else with the answer to the same request alone. Batches of
    another size round differently, so that a model may continue differently from some token on. A text that differs
    and then matches again was changed on its way: tokens of two streams were mixed, or reordered. Where a stream
    that runs alone is changed as well, endpoint/stream-equals-plain fails instead.

    Repair: queue requests instead of refusing them; schedule all of them; keep the state of each request separate.
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
    if not crowd.lines:
        raise NotApplicable(msg("no parallel streams were tried"))
    streams = [exchange for exchanges in crowd.rounds for exchange in exchanges]
    lost = [exchange for exchange in streams if not answered(exchange)]
    if lost:
        expected = msg("{lines} streams at once, all answered", lines=len(crowd.lines))
        seen = msg(
            "{lost} of {streams} were not answered: {response}",
            lost=len(lost),
            streams=len(streams),
            response=response_of(lost[0]),
        )
        queue = msg("queue requests instead of refusing them: the evaluation client does not retry")
        fix = msg("look for a lock or slot that is not released") if lost[0].error else queue
        rule = contract.CONCURRENCY if contract.CONCURRENCY.is_own else None
        yield about(lost[0]).fail(expected=expected, seen=seen, fix=fix, rule=rule)
    signs = crowd_talk(crowd)
    if only_changed(crowd) and changed_alone(interview):
        yield note(
            msg(
                "a stream that runs alone is changed as well: endpoint/stream-equals-plain judges it"
            )
        )
    elif signs:
        expected = msg("each stream with the answer to its own prompt")
        seen = msg("{first}; {count} such signs", first=signs[0], count=len(signs))
        fix = msg(
            "keep the state of each request separate, since a shared streamer or buffer mixes them; where several "
            "replicas answer, compare their chat templates"
        )
        yield about(streams[0]).fail(expected=expected, seen=seen, fix=fix)
    elif len(mixed := changed_copies(crowd)) >= MIXED:
        text, right = mixed[0]
        expected = msg("the answer to the same request alone: {right}", right=shown(right, 120))
        seen = msg(
            "with other requests: {text}, then the same text again; {mixed} such streams",
            text=shown(text, 120),
            mixed=len(mixed),
        )
        fix = msg(
            "keep the chunks of each stream separate and in order: a shared buffer or queue mixes them; where "
            "several replicas answer, compare their weights"
        )
        yield about(streams[0]).fail(expected=expected, seen=seen, fix=fix)
    elif not lost and (changed := changed_answers(crowd)):
        expected = msg("the same answers to the same concurrent prompts at temperature 0")
        seen = msg(
            "{count} of {rounds} were right only once: {examples}",
            count=len(changed),
            rounds=len(crowd.rounds[1]),
            examples=", ".join(changed[:2]),
        )
        fix = msg(
            "look for state that requests share; send the same prompts one at a time and compare"
        )
        yield about(streams[0]).warn(expected=expected, seen=seen, fix=fix)
