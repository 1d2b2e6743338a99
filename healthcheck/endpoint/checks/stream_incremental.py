"""endpoint/stream-incremental: text is streamed incrementally."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, unsettled
from healthcheck.endpoint.answers import said
from healthcheck.endpoint.arrivals import MEASURABLE_S, Shape, bursts, shapes, unclear
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.streams import every_stream
from healthcheck.endpoint.wording import request_of
from healthcheck.records import Stage

_TELLING_CHARACTERS = 200


@check(
    "endpoint/stream-incremental",
    "Text is streamed incrementally",
    stage=Stage.ENDPOINT,
    why="An answer that is sent in one burst at its end is not streamed: a proxy's time-out cuts the long ones.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def stream_incremental(interview: Interview) -> Findings:
    """The events of a stream must be sent while the model generates, not all at the end.

    A burst means that something collects the answer: a wrapper that awaits the whole text, or a proxy that buffers.
    The connection is then silent for as long as the answer takes, and every time-out on the way can end it. One
    burst alone proves nothing: a machine that is too busy to read sees one in any stream. Two are a failure, or six
    if each took less than two seconds.

    Repair: send each token when it is generated, and switch off buffering in every proxy (nginx: proxy_buffering
    off).
    Simulated by: npu-adapter simulate --fault burst

    Example:
    ```text seconds until each event of a long answer
    5.00  data: {"choices": [{"index": 0, "delta": {"content": "Once"}, …
    5.01  data: {"choices": [{"index": 0, "delta": {"content": " upon"}, …
    5.01  data: {"choices": [{"index": 0, "delta": {"content": " a"}, …
    ```

    Use instead:

    ```text seconds until each event of a long answer
    0.10  data: {"choices": [{"index": 0, "delta": {"content": "Once"}, …
    2.50  data: {"choices": [{"index": 0, "delta": {"content": " upon"}, …
    5.00  data: {"choices": [{"index": 0, "delta": {"content": " a"}, …
    ```
    """
    streams = [(e, e.completion) for e in every_stream(interview) if e.completion]
    telling = [(e, c) for e, c in streams if len(said(e)) >= _TELLING_CHARACTERS]
    whole = [(e, c) for e, c in telling if c.deltas == 1]
    held_back = bursts(interview)
    fix = "send each token when it is generated; switch off buffering in every proxy before the server"
    if whole and len(whole) == len(telling):
        yield fail(
            expected="an answer in many events",
            seen=f"each of {len(whole)} answers came in one event, "
            f"up to {max(len(said(e)) for e, _ in whole)} characters",
            fix=fix,
            where=request_of(whole[0][0]),
        )
    elif held_back:
        last = max(held_back, key=lambda e: e.arrivals_s[-1])
        yield fail(
            expected="text from the first second on",
            seen=f"nothing for {last.arrivals_s[0]:.1f} s, then all of it within "
            f"{last.arrivals_s[-1] - last.arrivals_s[0]:.2f} s, in each of {len(held_back)} answers",
            fix=fix,
            where=request_of(last),
        )
    elif Shape.STEADY not in shapes(interview):
        yield from _untold(interview, fix)


def _untold(interview: Interview, fix: str) -> Findings:
    """No answer was streamed incrementally, and none proves that the server held it back."""
    if unclear(interview):
        yield unsettled(
            expected="text from the first second on",
            seen="each long answer came in one burst or two: it is held back, or this machine is too busy",
            fix=f"try again when less runs beside; {fix}",
        )
    elif Shape.BURST in shapes(interview):
        raise NotApplicable("the answers were too quick: a server that holds text back looks like a busy machine")
    elif Shape.TORN not in shapes(interview):
        raise NotApplicable(f"no answer took the {MEASURABLE_S} s needed to distinguish a stream from a burst")
