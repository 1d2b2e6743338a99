"""endpoint/stream-finish: every stream ends correctly."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings
from healthcheck.stages.endpoint.answers import about, response_of, shown
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import (
    broken_off,
    every_stream,
    lost_in_a_crowd,
    overruns,
    unanswered,
)
from healthcheck.text.messages import msg


@check(
    "endpoint/stream-finish",
    msg("Every stream ends correctly"),
    why=msg("The client scores a stream that was cut as if it were whole."),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-framing",),
)
def stream_finish(interview: Interview) -> Findings:
    """Each stream must end with a `finish_reason` and then `data: [DONE]`.

    A stream that ends without finish_reason was cut: a worker died, a proxy timed out, or the connection broke.
    If the connection is closed properly, the client does not notice, and scores half an answer. If it breaks,
    the client sends the request again and appends the second answer to the first half. It does not need [DONE],
    and reads on after finish_reason, so a missing one, and text behind it, are warnings. The client has no
    time-out: a request that is never answered blocks it forever. A status of 429 or 500 is final, even if only
    some requests get it, for instance long answers or those at temperature 1.

    Repair: read the server's log at that time; raise the time-outs of everything between client and server.
    Simulated by: npu-adapter simulate --fault no-finish (cut, cut-cleanly, stalls, no-done,
    late-text, hangs-at-45)

    Example:
    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": null}]}

    data: [DONE]
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": null}]}

    data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

    data: [DONE]
    ```
    """
    streams = tuple(every_stream(interview))
    # endpoint/max-tokens judges streams that the kit left because they did not end, endpoint/concurrency those that
    # never began beside others.
    whole = [
        e for e in streams if not (e.error and overruns(e)) and not lost_in_a_crowd(interview, e)
    ]
    cut = [e for e in whole if e.error or not e.folded.finish_reason]
    if cut:
        why = cut[0].error or msg(
            "no finish_reason after {text}", text=shown(cut[0].folded.text[-80:])
        )
        expected = msg("finish_reason in the last choice of every stream")
        seen = msg(
            "{cut} of {streams} streams were cut: {why}",
            cut=len(cut),
            streams=len(streams),
            why=why,
        )
        fix = msg(
            "look into the server's log at the end of this request; the client scores a cut answer as it is"
        )
        yield about(cut[0]).fail(expected=expected, seen=seen, fix=fix)
    if silent := unanswered(interview):
        seen = msg(
            "{silent} had none, while the others were answered: {response}",
            silent=len(silent),
            response=response_of(silent[0]),
        )
        fix = msg(
            "look for a request that is dropped: a lock, a slot or a worker that is never released"
        )
        yield about(silent[0]).fail(expected=msg("an answer to every request"), seen=seen, fix=fix)
    if refused := broken_off(interview):
        seen = msg(
            "{refused} ended with a server's error, while others were served: {response}",
            refused=len(refused),
            response=response_of(refused[0]),
        )
        fix = msg(
            "look into the server's log at the moment of this request; the client does not ask again"
        )
        yield about(refused[0]).fail(expected=msg("an answer to every request"), seen=seen, fix=fix)
    late = [e for e in whole if e.folded.late]
    if late:
        expected = msg("no text after the event with finish_reason")
        seen = msg(
            "text after it in {late} of {streams} streams", late=len(late), streams=len(streams)
        )
        fix = msg("send finish_reason last: the evaluation client reads on, many others stop there")
        yield about(late[0]).warn(expected=expected, seen=seen, fix=fix)
    open_ended = [e for e in whole if e not in cut and not e.folded.done]
    if open_ended:
        expected = msg("`data: [DONE]` as the last event")
        seen = msg(
            "{open_ended} of {streams} streams end without it",
            open_ended=len(open_ended),
            streams=len(streams),
        )
        fix = msg("send `data: [DONE]` and a blank line at the end")
        yield about(open_ended[0]).warn(expected=expected, seen=seen, fix=fix)
