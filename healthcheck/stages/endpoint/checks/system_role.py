"""endpoint/system-role: the system message reaches the model."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.stages.endpoint.answers import about, response_of
from healthcheck.stages.endpoint.conversation import conversation, heard, no_room
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg


@check(
    "endpoint/system-role",
    msg("The system message reaches the model"),
    why=msg("Some data sets instruct the model in a system message."),
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream-finish",),
)
def system_role(interview: Interview) -> Findings:
    """A longer system message must make the prompt longer. It is judged as earlier turns are (endpoint/multi-turn).

    Two system messages are compared, not one and none, because some templates have a default system prompt of
    hundreds of tokens that a system message replaces. Some templates refuse the role. The service's sample task
    sends no system message, so a refusal warns. A missing code word warns, too: the model may withhold what its
    system message says.

    Repair: use a chat template that supports system messages.
    Simulated by: npu-adapter simulate --fault forgets-system (refuses-system, counts-forgotten-system)

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
            why = msg(
                "the context has no room for a system message: {response}",
                response=response_of(talk.system),
            )
            raise NotApplicable(why)
        expected = msg("an answer to a conversation with a system message")
        fix = msg(
            "use a chat template that has a place for the system message, or join it to the first user message"
        )
        yield about(talk.system).warn(expected=expected, seen=response_of(talk.system), fix=fix)
        return
    turn, longer, again = talk.system, talk.system_longer, talk.system_again
    yield from heard(interview, turn, longer, again, what=msg("the system message"), forgotten=warn)
