"""endpoint/stream-equals-plain: a streamed answer is the plain answer in pieces."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note
from healthcheck.stages.endpoint.answers import (
    about,
    answer,
    answered,
    plain_answer,
    plain_texts,
    response_of,
    shown,
    texts,
)
from healthcheck.stages.endpoint.likeness import first_difference
from healthcheck.stages.endpoint.lone_streams import changed_alone
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg


@check(
    "endpoint/stream-equals-plain",
    msg("A streamed answer is the plain answer in pieces"),
    why=msg("A chunk that the stream loses or repeats changes the answer that is scored."),
    requires=("endpoint/stream-finish",),
)
def stream_equals_plain(interview: Interview) -> Findings:
    """At temperature 0 the same request must give the same text with and without streaming. If it does not, both
    are sent four times more, one at a time. Long answers are compared where texts looked changed beside others.

    A difference is a fault of streaming: the last chunk is lost, the first one is sent twice, white space is
    stripped from chunks, or characters are escaped. If streams differ from run to run as well, a text that
    differs from the plain answer for a while and then matches it again is such a fault: a model that takes another
    path does not come back. Without such a text the check is skipped. It does not matter where a reasoning parser
    splits reasoning and text. The service uses streams only, so a plain
    request that is refused is a warning.

    Repair: build both answers from the same chunks.
    Simulated by: npu-adapter simulate --fault lost-token (doubled-token, repeats-tokens, swaps-alone,
    loses-40th, no-plain)

    Example:
    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "The capital is"}, "finish_reason": "stop"}]}

    data: [DONE]
    ```

    ```http plain answer
    HTTP/1.1 200 OK
    Content-Type: application/json

    {"choices": [{"index": 0, "message": {"role": "assistant", "content": "The capital is Paris."}}]}
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "The capital is"}, "finish_reason": null}]}

    data: {"choices": [{"index": 0, "delta": {"content": " Paris."}, "finish_reason": "stop"}]}

    data: [DONE]
    ```
    """
    if not interview.streams or not interview.plains:
        raise NotApplicable(msg("no pair of answers was asked for"))
    stream, plain = interview.streams[0], interview.plains[0]
    if not answered(stream):
        raise NotApplicable(msg("the streamed request was not answered (endpoint/stream-finish)"))
    if plain.status != 200 or plain.error or (any(texts(stream)) and not any(plain_texts(plain))):
        expected = msg("an answer without stream: true as well")
        fix = msg('answer "stream": false too; the service does not use it, people with curl do')
        yield about(plain).warn(expected=expected, seen=response_of(plain), fix=fix)
        return
    streamed, whole = answer(stream), plain_answer(plain)
    if (
        texts(stream)[1]
        and not plain_texts(plain)[1]
        and whole.endswith(streamed)
        and streamed != whole
    ):
        yield note(
            msg("the plain answer has words of the reasoning format that the stream leaves out")
        )
        return
    if changed := changed_alone(interview):
        text, right = changed
        expected = msg("the same text as the plain answer: {whole}", whole=shown(right, 120))
        seen = msg(
            "{text}, which differs for a while and then matches again", text=shown(text, 120)
        )
        fix = msg("send every piece into the stream once and in order, with its white space")
        yield about(stream).fail(expected=expected, seen=seen, fix=fix)
        return
    if not interview.steady:
        why = msg(
            "answers at temperature 0 differ from run to run here, so a difference proves nothing"
        )
        raise NotApplicable(why)
    place = first_difference(streamed, whole)
    if place is None:
        if texts(stream) != plain_texts(plain) and "".join(texts(stream)) != "".join(
            plain_texts(plain)
        ):
            yield note(
                msg("the plain answer parts thoughts and text elsewhere, or has other white space")
            )
        return
    around = slice(max(0, place - 20), place + 40)
    expected = msg("the same text as the plain answer: …{whole}", whole=repr(whole[around]))
    seen = msg(
        "from character {place} on: …{streamed} ({streamed_length} characters, plain {plain_length}; {streams} "
        "streams, {plains} plain, each all alike)",
        place=place,
        streamed=repr(streamed[around]),
        streamed_length=len(streamed),
        plain_length=len(whole),
        streams=len(interview.streams),
        plains=len(interview.plains),
    )
    fix = msg("send every piece into the stream once, the last one too")
    yield about(stream).fail(expected=expected, seen=seen, fix=fix)
