"""endpoint/isolation: no request sees the text of another request."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable
from healthcheck.stages.endpoint.answers import about, prompt_tokens, repeats, said, shown
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import counts_hold
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

_FIX = msg("build the prompt from the messages of the request alone; keep no history on the server")
_TEMPLATES_OWN_TOKENS = 16
"""A template that tells the time may have some tokens more or fewer."""


@check(
    "endpoint/isolation",
    msg("No request sees the text of another one"),
    why=msg(
        "The client sends many problems concurrently: a shared history puts one into the prompt of another."
    ),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def isolation(interview: Interview) -> Findings:
    """Several clients tell the server code words. A client that told it none then asks for the code word. An
    answer with another client's word shows that the server keeps one history for all clients.

    If the model does not repeat code words, the check fails if the prompt tokens of one request that was sent
    several times have grown, as a history makes them; else it is skipped.

    Repair: build the prompt from the messages of the request alone; keep no chat session on the server.
    Simulated by: npu-adapter simulate --fault shared-history

    Example:
    Another client was told the code word kalo77. This one was told none:

    ```text answer to “What is the code word?”
    The code word is kalo77.
    ```

    Use instead:

    ```text answer to “What is the code word?”
    You have not told me a code word.
    ```
    """
    for word, exchange in _untold(interview):
        if word in said(exchange):
            seen = msg(
                "the code word of another request, {word}: {said}",
                word=repr(word),
                said=shown(said(exchange)),
            )
            yield about(exchange).fail(
                expected=msg("an answer without text of other requests"), seen=seen, fix=_FIX
            )
            return
    talk = interview.conversation
    if talk is None or not repeats(talk.word, talk.same):
        yield from _counted(interview)


def _counted(interview: Interview) -> Findings:
    """Whether the same prompt grew in the course of the interview."""
    sampled = interview.sampling.warm
    asked = (
        interview.opening.exchange,
        *interview.streams,
        interview.limited,
        interview.roomy,
        *sampled,
    )
    counts = [
        (count, exchange) for exchange in asked if exchange and (count := prompt_tokens(exchange))
    ]
    if counts and counts_hold(interview):
        (first, _), (most, last) = counts[0], max(counts, key=lambda counted: counted[0])
        if most > first + _TEMPLATES_OWN_TOKENS:
            expected = msg(
                "{first} prompt tokens each time that the same messages are sent", first=first
            )
            yield about(last).fail(
                expected=expected, seen=msg("{most} after other requests", most=most), fix=_FIX
            )
            return
    why = msg(
        "the model does not repeat a code word, so the check cannot see what was in its prompt"
    )
    raise NotApplicable(why)


def _untold(interview: Interview) -> Iterator[tuple[str, Exchange]]:
    """Code words, each with the requests that did not contain it."""
    talk, crowd = interview.conversation, interview.crowd
    if talk is None:
        return
    of_lines = (line.split(maxsplit=1)[0] for line in crowd.lines)
    words = [talk.word, *(recall.word for recall in talk.recalls), *of_lines]
    words += [word for word, _ in interview.beginnings]
    apart = (talk.alone, talk.shots, interview.limited, interview.stopped, *interview.streams)
    for word in dict.fromkeys(words):
        for exchange in filter(None, apart):
            yield word, exchange
