"""endpoint/disconnect: the server recovers from a client disconnect."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable
from healthcheck.stages.endpoint.answers import about, response_of
from healthcheck.stages.endpoint.crowd import LINE_AFTER_DISCONNECTS, still_right
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg


@check(
    "endpoint/disconnect",
    msg("The server recovers from a client disconnect"),
    why=msg(
        "A stopped job or a time-out disconnects from open streams; later requests must not suffer."
    ),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def disconnect(interview: Interview) -> Findings:
    """The kit disconnects from eight streams after their first chunk, and from eight more if those chunks came
    late. Each of them, and the next request, must be answered as before.

    Repair: end the generation when its client disconnects, and release its slot.
    Simulated by: npu-adapter simulate --fault stuck-after-disconnect

    Example:
    ```python
    async def stream(prompt):
        await slots.acquire()
        async for token in engine.generate(prompt):
            yield token  # a client that leaves ends the generator here
        slots.release()
    ```

    Use instead:

    ```python
    async def stream(prompt):
        async with slots:
            async for token in engine.generate(prompt):
                yield token
    ```
    """
    fix = msg("end the generation when its client disconnects, and release its slot")
    stuck, after = interview.unanswered_abandoned, interview.after_abandoned
    if stuck:
        expected = msg("a response while other clients disconnect")
        yield about(stuck).fail(expected=expected, seen=response_of(stuck), fix=fix)
    elif after:
        disconnects = msg("{abandoned} disconnects", abandoned=len(interview.abandoned))
        yield from still_right(
            interview, after, line=LINE_AFTER_DISCONNECTS, after=disconnects, fix=fix
        )
    else:
        raise NotApplicable(msg("no stream was abandoned"))
