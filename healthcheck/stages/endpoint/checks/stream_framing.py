"""endpoint/stream-framing: the evaluation client can read the stream."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings
from healthcheck.stages.endpoint.answers import about, flaws
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import every_stream
from healthcheck.text.messages import joined, msg
from healthcheck.wire.client import Exchange


@check(
    "endpoint/stream-framing",
    msg("The evaluation client can read the stream"),
    why=msg(
        "The client reads streams more strictly than browsers do; a stream that it cannot read is a failed sample."
    ),
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream",),
)
def stream_framing(interview: Interview) -> Findings:
    """The client splits the stream at blank lines, skips a block that begins with a colon, and reads the rest of a
    block after `data:` as one JSON text, in which every choice has a `delta` object.

    It cannot read: `event:` or `id:` lines, several data lines in a block, events without a blank line between
    them, JSON that Python's parser refuses, bytes that are not UTF-8, `choices` that is null, a choice without
    `delta`, a line of more than 512 KiB. Data in the same block as a comment is lost. Comments in their own blocks,
    CRLF, and a missing blank line after the last event are accepted. A content type other than text/event-stream is
    a warning.

    Repair: send `data: ` + one line of JSON + two newlines, and nothing else.
    Simulated by: npu-adapter simulate --fault event-lines (id-lines, one-newline, single-quotes, not-utf8,
    after-comment, message-for-delta, null-choices, json-type, plain-type)

    Example:
    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    event: message
    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}

    data: [DONE]
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}

    data: [DONE]
    ```
    """
    streams = tuple(every_stream(interview))
    spoilt = [each for each in streams if flaws(each)]
    if spoilt:
        first = joined("; ", flaws(spoilt[0])[:3])
        expected = msg("blocks of `data: ` and one JSON object, with a blank line after each")
        spoils = msg(
            "in {spoilt} of {streams} streams: {flaws}",
            spoilt=len(spoilt),
            streams=len(streams),
            flaws=first,
        )
        repair = msg("send `data: ` + one line of JSON + two newlines, and nothing else")
        yield about(spoilt[0]).fail(expected=expected, seen=spoils, fix=repair)
    other = [each for each in streams if not _kind(each).lower().startswith("text/event-stream")]
    if other:
        kind = repr(_kind(other[0])) if _kind(other[0]) else msg("none")
        seen = msg(
            "{fault} in {count} of {streams} streams",
            fault=kind,
            count=len(other),
            streams=len(streams),
        )
        fix = msg(
            "answer streams as text/event-stream: the evaluation client does not look, other clients refuse it"
        )
        yield about(other[0]).warn(expected="content-type: text/event-stream", seen=seen, fix=fix)


def _kind(exchange: Exchange) -> str:
    return exchange.headers.get("content-type", "")
