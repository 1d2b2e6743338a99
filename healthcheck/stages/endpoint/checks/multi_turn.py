"""endpoint/multi-turn: every turn reaches the model."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, fail
from healthcheck.stages.endpoint.answers import about, repeats, response_of, said, shown
from healthcheck.stages.endpoint.conversation import conversation, heard, no_room
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg

_FIX = msg("apply the model's chat template to the whole list of messages")
_WORDS = 3


@check(
    "endpoint/multi-turn",
    msg("Earlier turns reach the model"),
    why=msg(
        "The service's sample task gives four worked examples as earlier turns of a conversation."
    ),
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream-finish",),
)
def multi_turn(interview: Interview) -> Findings:
    """All turns of a conversation must be in the prompt.

    The number of prompt tokens shows it: it must grow when an earlier turn grows. If the server reports no counts,
    a model that repeats a code word within one message must also repeat it across turns; a model that cannot is not
    judged. A server may count the request instead of the prompt. So the check warns if such a model does not repeat
    the word although the counts grow; and a model that repeats a code word from a single
    message must also repeat it when the same message is the last of three turns; it has three tries.

    Repair: apply the model's chat template to the whole list of messages.
    Simulated by: npu-adapter simulate --fault forgets-history (refuses-history, first-turn-only,
    counts-forgotten-history)

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
            why = msg(
                "the context has no room for a conversation: {response}",
                response=response_of(exchange),
            )
            raise NotApplicable(why)
        several = msg("an answer to a conversation of several turns")
        yield about(exchange).fail(expected=several, seen=response_of(exchange), fix=_FIX)
        return
    deaf = [
        each
        for each in talk.recalls
        if repeats(each.word, each.single) and not repeats(each.word, each.last)
    ]
    if len(deaf) == _WORDS:
        word = repr(deaf[0].word)
        expected = msg(
            "the code word {word} from the last of three turns, as from a single message", word=word
        )
        seen = msg(
            "{said}, and so with {words} words of {words}",
            said=shown(said(deaf[0].last)),
            words=_WORDS,
        )
        yield about(deaf[0].last).fail(expected=expected, seen=seen, fix=_FIX)
        return
    turn, longer, again = talk.history, talk.history_longer, talk.history_again
    yield from heard(interview, turn, longer, again, what=msg("an earlier turn"), forgotten=fail)
