"""endpoint/multi-turn: every turn is heard."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail
from healthcheck.endpoint.answers import repeats, said
from healthcheck.endpoint.conversation import conversation, heard, no_room
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Stage

_FIX = "apply the model's chat template to the whole list of messages"
_WORDS = 3


@check(
    "endpoint/multi-turn",
    "Earlier turns reach the model",
    stage=Stage.ENDPOINT,
    why="The service's sample task gives four worked examples as earlier turns of a conversation.",
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream-finish",),
)
def multi_turn(interview: Interview) -> Findings:
    """A request with several turns must be answered with all of them in the prompt.

    Whether earlier turns are is read off the count of prompt tokens, which must grow when an earlier turn does, not
    off the wisdom of the answer. Where the server counts nothing, a model that repeats a code word within one
    message must do so across turns as well; one that cannot is not judged. Counts may be made of the request and
    not of what the model hears: a model that repeats a code word when it is told alone must also repeat it when the
    same message is the last of three turns, at the third word at the latest.

    Repair: apply the model's chat template to the whole list of messages.
    Simulated by: npu-adapter simulate --fault forgets-history (refuses-history, first-turn-only)

    Example:
    ```text prompt tokens of a conversation
    100  with a short first message
    100  with a longer first message
    ```

    Use instead:

    ```text prompt tokens of a conversation
    100  with a short first message
    180  with a longer first message
    ```
    """
    talk = conversation(interview)
    for exchange in (talk.history, talk.shots):
        if exchange.status == 200:
            continue
        if no_room(interview, exchange):
            raise NotApplicable(f"the context has no room for a conversation: {what_came(exchange)}")
        yield fail(
            expected="an answer to a conversation of several turns",
            seen=what_came(exchange),
            fix=_FIX,
            where=asked(exchange),
        )
        return
    deaf = [each for each in talk.recalls if repeats(each.word, each.single) and not repeats(each.word, each.last)]
    if len(deaf) == _WORDS:
        yield fail(
            expected=f"the code word {deaf[0].word!r} from the last of three turns; told alone, it comes back",
            seen=f"{shown(said(deaf[0].last))}, and so with {_WORDS} words of {_WORDS}",
            fix=_FIX,
            where=asked(deaf[0].last),
        )
        return
    turn, longer, again = talk.history, talk.history_longer, talk.history_again
    if finding := heard(interview, turn, longer, again, what="an earlier turn", forgotten=fail):
        yield finding
