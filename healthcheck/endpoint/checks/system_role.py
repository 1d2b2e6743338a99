"""endpoint/system-role: the system message reaches the model."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, warn
from healthcheck.endpoint.conversation import conversation, heard, no_room
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.wording import asked, what_came
from healthcheck.records import Stage


@check(
    "endpoint/system-role",
    "The system message reaches the model",
    stage=Stage.ENDPOINT,
    why="Some data sets instruct the model in a system message.",
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream-finish",),
)
def system_role(interview: Interview) -> Findings:
    """A longer system message must make the prompt longer; judged as earlier turns are (endpoint/multi-turn).

    Two system messages are compared, not one and none: some templates have a system prompt of their own, of
    hundreds of tokens, that a given one replaces. Some refuse the role. The service's sample task sends none, so a
    refusal is a warning. So is a code word of the system message that does not come back where the server counts
    nothing: a model may keep it to itself.

    Repair: use a chat template that has a place for the system message.
    Simulated by: npu-adapter simulate --fault forgets-system (refuses-system)

    Example:
    ```text prompt tokens of a conversation
    100  with a short system message
    100  with a longer system message
    ```

    Use instead:

    ```text prompt tokens of a conversation
    100  with a short system message
    180  with a longer system message
    ```
    """
    talk = conversation(interview)
    if talk.system.status != 200:
        if no_room(interview, talk.system):
            raise NotApplicable(f"the context has no room for a system message: {what_came(talk.system)}")
        yield warn(
            expected="an answer to a conversation with a system message",
            seen=what_came(talk.system),
            fix="use a chat template that has a place for the system message, or join it to the first user message",
            where=asked(talk.system),
        )
        return
    turn, longer, again = talk.system, talk.system_longer, talk.system_again
    if finding := heard(interview, turn, longer, again, what="the system message", forgotten=warn):
        yield finding
