"""endpoint/stream-equals-plain: a streamed answer is the plain answer in pieces."""

from __future__ import annotations

from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.endpoint.answers import answer, answered, plain_answer, plain_texts, texts
from healthcheck.endpoint.likeness import parting
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.wording import asked, what_came
from healthcheck.records import Stage


@check(
    "endpoint/stream-equals-plain",
    "A streamed answer is the plain answer in pieces",
    stage=Stage.ENDPOINT,
    why="A piece that is lost or doubled on the way into the stream changes what is scored.",
    requires=("endpoint/stream-finish",),
)
def stream_equals_plain(interview: Interview) -> Findings:
    """At temperature 0 the same request, streamed and not, must give the same text. Where it does not, both are
    asked four times more, one at a time.

    A difference is a fault of the path into the stream: the last piece lost at the end, a first piece sent twice,
    white space stripped from pieces, escapes. Where answers differ from run to run as well, nothing can be told.
    Where a reasoning parser draws the line between thoughts and text does not matter. The service itself uses
    streams only, so a plain answer that is refused is a warning.

    Repair: build both answers from the same pieces.
    Simulated by: npu-adapter simulate --fault lost-token (doubled-token, no-plain)

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
        raise NotApplicable("no pair of answers was asked for")
    stream, plain = interview.streams[0], interview.plains[0]
    if not answered(stream):
        raise NotApplicable("the streamed request was not answered (endpoint/stream-finish)")
    if plain.status != 200 or plain.error or (any(texts(stream)) and not any(plain_texts(plain))):
        yield warn(
            expected="an answer without stream: true as well",
            seen=what_came(plain),
            fix='answer "stream": false too; the service does not use it, people with curl do',
            where=asked(plain),
        )
        return
    if not interview.steady:
        raise NotApplicable(
            "answers at temperature 0 differ from run to run here, so that a difference tells nothing"
        )
    streamed, whole = answer(stream), plain_answer(plain)
    if streamed == whole:
        if texts(stream) != plain_texts(plain) and "".join(texts(stream)) != "".join(plain_texts(plain)):
            yield note("the plain answer parts thoughts and text elsewhere, or has other white space")
        return
    if texts(stream)[1] and not plain_texts(plain)[1] and whole.endswith(streamed):
        yield note("the plain answer has words of the reasoning format that the stream leaves out")
        return
    place = parting(streamed, whole)
    start = max(0, place - 20)
    yield fail(
        expected=f"the same text as the plain answer: …{whole[start : place + 40]!r}",
        seen=f"from character {place} on: …{streamed[start : place + 40]!r} ({len(streamed)} characters, "
        f"plain {len(whole)}; {len(interview.streams)} streams, {len(interview.plains)} plain, each all alike)",
        fix="send every piece into the stream once, the last one too",
        where=asked(stream),
    )
