"""endpoint/disconnect: the server recovers from a client disconnect."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check
from healthcheck.endpoint.afterwards import still_right
from healthcheck.endpoint.records import Interview
from healthcheck.records import Stage


@check(
    "endpoint/disconnect",
    "The server recovers from a client disconnect",
    stage=Stage.ENDPOINT,
    why="A stopped job or a time-out disconnects from open streams; later requests must not suffer.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def disconnect(interview: Interview) -> Findings:
    """The kit disconnects from eight streams after their first chunk. The next request must be answered as before.

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
    if interview.after_abandoned is None:
        raise NotApplicable("no stream was abandoned")
    yield from still_right(
        interview,
        interview.after_abandoned,
        index=0,
        after="eight disconnects",
        fix="end the generation when its client disconnects, and release its slot",
    )
