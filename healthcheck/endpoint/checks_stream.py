"""Does the stream arrive as the evaluation client reads it, and does it end as it should?"""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.endpoint.arrivals import MEASURABLE_S, Shape, bursts, shapes, unclear
from healthcheck.endpoint.prompts import FILLER_WORDS
from healthcheck.endpoint.records import (
    Interview,
    every_stream,
    lost_in_a_crowd,
    miscount,
    overruns,
    prompt_tokens,
    words_in,
)
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Finding, Stage
from healthcheck.wire.chat import Completion
from healthcheck.wire.client import Exchange

_DENIALS = frozenset({401, 403})
_TELLING_WORDS = 32


@check(
    "endpoint/stream",
    "Chat answers are streamed, with text in them",
    stage=Stage.ENDPOINT,
    why="The service uses the streaming API of /v1/chat/completions and nothing else.",
    rule=contract.CHAT_STREAMING,
)
def stream(interview: Interview) -> Findings:
    """A POST to /v1/chat/completions with "stream": true must answer 200 with a stream of events that carry text.

    The evaluation client takes what comes: an error event inside a stream, a stream without text and an answer that
    is all in the reasoning field are scored as answers, wrong ones, without a word in its report. A status other
    than 200 is final, and a redirect loses the request.

    Repair: try the request that is quoted with curl, and look into the server's log at that moment. For an answer
    that is all reasoning, remove --reasoning-parser where the model does not reason.
    Simulated by: npu-adapter simulate --fault error-event (chat-404, chat-500, redirect, never-streams,
    never-answers, says-nothing, reasoning-only)
    """
    opening = interview.opening.exchange
    if opening.status in _DENIALS:
        raise NotApplicable("the server asks for an API key (endpoint/no-auth)")
    if not opening.status and not interview.models.status:
        raise NotApplicable("the server answers nothing at all (endpoint/models)")
    if finding := _refused(opening):
        yield finding
        return
    streams = tuple(every_stream(interview))
    failing = [exchange for exchange in streams if exchange.completion and exchange.completion.error]
    if failing and failing[0].completion:
        yield fail(
            expected="no error inside a stream of status 200",
            seen=f"in {len(failing)} of {len(streams)} streams: {shown(failing[0].completion.error)}",
            fix="look for this error in the server's log; the evaluation client scores such a stream as an answer",
            where=asked(failing[0]),
        )
        return
    if finding := _without_text(streams):
        yield finding


def _refused(opening: Exchange) -> Finding | None:
    """What is wrong with the first answer as a whole."""
    fix = "serve POST /v1/chat/completions; read the server's log at the moment of this request"
    if 300 <= opening.status < 400:
        seen = f"a redirect, status {opening.status} to {opening.headers.get('location', 'nowhere')!r}"
        fix = "answer at /v1/chat/completions itself"
    elif opening.status != 200:
        seen = what_came(opening)
    elif opening.completion and not opening.completion.deltas and opening.body.lstrip()[:1] in {b"{", b"["}:
        seen = f"a plain body: {what_came(opening)}"
        fix = 'answer "stream": true with server-sent events'
    elif opening.error and opening.completion and not opening.completion.events:
        seen = f"status 200 and then {opening.error}"
    else:
        return None
    return fail(expected="status 200 and a stream of events", seen=seen, fix=fix, where=asked(opening))


def _without_text(streams: tuple[Exchange, ...]) -> Finding | None:
    completions = [e.completion for e in streams if e.completion and not _flaws(e.completion)]
    if not completions or any(completion.text for completion in completions):
        return None
    ended = [completion for completion in completions if completion.finish_reason == "stop"]
    reasoned = [completion for completion in ended if completion.reasoning]
    if reasoned:
        return fail(
            expected="an answer in delta.content",
            seen=f"all {len(ended)} answers that ended are in the reasoning field: {shown(reasoned[0].reasoning)}",
            fix="remove --reasoning-parser, or choose the one that fits this model",
        )
    if any(completion.reasoning for completion in completions):
        return None  # a thinking model that max_tokens cut off before its answer
    return fail(
        expected="text in delta.content",
        seen=f"none of {len(completions)} streams carries any text; the first: {shown(_raw(streams[0]))}",
        fix="ask the server for a plain answer and compare; check the chat template and max_tokens",
        where=asked(streams[0]),
    )


def _raw(exchange: Exchange) -> str:
    return exchange.body[:600].decode("utf-8", "replace")


@check(
    "endpoint/stream-framing",
    "The evaluation client can read the stream",
    stage=Stage.ENDPOINT,
    why="The client reads streams more strictly than browsers do; what it cannot read is a failed sample.",
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream",),
)
def stream_framing(interview: Interview) -> Findings:
    """The client cuts the stream at blank lines, skips a block that begins with a colon, and reads the rest of a
    block after `data:` as one JSON text, in which every choice has a `delta` object.

    So these break it: `event:` or `id:` lines, several data lines in a block, no blank line between events, JSON
    that Python's reader refuses, bytes that are not UTF-8, `choices` that is null, a choice without `delta`, a
    line of more than 512 KiB. Data in the same block as a comment is lost. Comments in blocks of their own, CRLF,
    and no blank line after the last event are all fine.

    Repair: send `data: ` + one line of JSON + two newlines, and nothing else.
    Simulated by: npu-adapter simulate --fault event-lines (id-lines, one-newline, single-quotes, not-utf8,
    after-comment, message-for-delta, null-choices)
    """
    streams = tuple(every_stream(interview))
    spoilt = [(e, e.completion) for e in streams if e.completion and _flaws(e.completion)]
    if spoilt:
        exchange, completion = spoilt[0]
        yield fail(
            expected="blocks of `data: ` and one JSON object, with a blank line after each",
            seen=f"in {len(spoilt)} of {len(streams)} streams: {'; '.join(_flaws(completion)[:3])}",
            fix="send `data: ` + one line of JSON + two newlines, and nothing else",
            where=asked(exchange),
        )


def _flaws(completion: Completion) -> tuple[str, ...]:
    return completion.faults + completion.swallowed


@check(
    "endpoint/stream-finish",
    "Every stream ends as it should",
    stage=Stage.ENDPOINT,
    why="The client scores a stream that was cut as if it were whole.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-framing",),
)
def stream_finish(interview: Interview) -> Findings:
    """Each stream must end with a `finish_reason` and then `data: [DONE]`.

    A stream that ends without finish_reason was cut: a worker died, a proxy timed out, the connection broke. Where
    the connection ends in order the client cannot tell, and scores the half answer; where it breaks, it asks again
    and puts the second answer behind the first half. It does not need [DONE], so a missing one is a warning.

    Repair: look into the server's log at that moment; raise time-outs of anything between client and server.
    Simulated by: npu-adapter simulate --fault no-finish (cut, cut-cleanly, stalls, no-done)
    """
    streams = tuple(every_stream(interview))
    # A stream that the kit left because it went on and on is judged by endpoint/max-tokens, one that never began
    # beside others by endpoint/concurrency.
    whole = [e for e in streams if not (e.error and overruns(e)) and not lost_in_a_crowd(interview, e)]
    cut = [e for e in whole if e.error or (e.completion and not e.completion.finish_reason)]
    if cut and cut[0].completion:
        why = cut[0].error or f"no finish_reason after {shown(cut[0].completion.text[-80:])}"
        yield fail(
            expected="finish_reason in the last choice of every stream",
            seen=f"{len(cut)} of {len(streams)} streams were cut: {why}",
            fix="look into the server's log at the end of this request; the client scores a cut answer as it is",
            where=asked(cut[0]),
        )
    open_ended = [e for e in whole if e not in cut and e.completion and not e.completion.done]
    if open_ended:
        yield warn(
            expected="`data: [DONE]` as the last event",
            seen=f"{len(open_ended)} of {len(streams)} streams end without it",
            fix="send `data: [DONE]` and a blank line at the end",
            where=asked(open_ended[0]),
        )


@check(
    "endpoint/stream-incremental",
    "Text arrives while it is made",
    stage=Stage.ENDPOINT,
    why="An answer that comes in one burst at its end is no stream: a proxy's time-out cuts the long ones.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def stream_incremental(interview: Interview) -> Findings:
    """The events of a stream must come one after another while the model writes, not all at its end.

    A burst means that something collects the answer: a wrapper that awaits the whole text, a proxy that buffers.
    Nothing then moves on the connection for as long as the answer takes, and whatever waits for data gives up.
    One burst alone says nothing: a machine that is too busy to read makes one of any stream.

    Repair: send each token as it comes, and switch buffering off in anything in front (nginx: proxy_buffering off).
    Simulated by: npu-adapter simulate --fault burst
    """
    streams = [(e, e.completion) for e in every_stream(interview) if e.completion]
    telling = [(e, c) for e, c in streams if words_in(c) >= _TELLING_WORDS]
    whole = [(e, c) for e, c in telling if c.deltas == 1]
    held_back = bursts(interview)
    fix = "send each token as it comes; switch buffering off in whatever stands before the server"
    if whole and len(whole) == len(telling):
        yield fail(
            expected="an answer in many events",
            seen=f"each of {len(whole)} answers came in one event, "
            f"up to {max(words_in(c) for _, c in whole)} words",
            fix=fix,
            where=asked(whole[0][0]),
        )
    elif held_back:
        last = max(held_back, key=lambda e: e.arrivals_s[-1])
        yield fail(
            expected="text from the first second on",
            seen=f"nothing for {last.arrivals_s[0]:.1f} s, then all of it within "
            f"{last.arrivals_s[-1] - last.arrivals_s[0]:.2f} s, in each of {len(held_back)} answers",
            fix=fix,
            where=asked(last),
        )
    elif Shape.STEADY not in shapes(interview):
        yield from _untold(interview, fix)


def _untold(interview: Interview, fix: str) -> Findings:
    """No answer came by and by, and none shows for sure that the server held it back."""
    if unclear(interview):
        yield unsettled(
            expected="text from the first second on",
            seen="each long answer came in one burst or two: it is held back, or this machine is too busy",
            fix=f"try again when less runs beside; {fix}",
        )
    elif Shape.BURST in shapes(interview):
        raise NotApplicable("the answers were too quick to tell a server that holds text back from a busy machine")
    elif Shape.TORN not in shapes(interview):
        raise NotApplicable(f"no answer took the {MEASURABLE_S} s that it takes to tell a stream from a burst")


@check(
    "endpoint/stream-usage",
    "Token counts make sense",
    stage=Stage.ENDPOINT,
    why="Wrong counts make throughput and length figures of the service's report wrong.",
    requires=("endpoint/stream-finish",),
)
def stream_usage(interview: Interview) -> Findings:
    """The client asks for token counts with stream_options.include_usage. It can do without them; where they come,
    they must be whole numbers, of at least one token for a prompt and for a text, in proportion to the text, and a
    longer prompt must count more. Counts that cannot be true are not used by any other check.

    Repair: count the tokens of the templated prompt and of the answer, reasoning included.
    Simulated by: npu-adapter simulate --fault wrong-usage
    """
    streams = [(e, e.completion) for e in every_stream(interview) if e.completion]
    if not any(completion.usage_sent for _, completion in streams):
        yield note("the server sends no usage in its streams; the evaluation client does without")
    for exchange, completion in streams:
        if problem := miscount(exchange):
            yield fail(
                expected="prompt_tokens and completion_tokens that can be true",
                seen=f"{problem}: {completion.usage_sent} for {shown(completion.text, 120)}",
                fix="count the tokens of the templated prompt and of the answer",
                where=asked(exchange),
            )
            return
    talk = interview.conversation
    alone, same = (prompt_tokens(talk.alone), prompt_tokens(talk.same)) if talk else (None, None)
    if talk and alone and same and same - alone < FILLER_WORDS // 3:
        yield fail(
            expected=f"more than {alone} prompt tokens for a prompt of {FILLER_WORDS} words more",
            seen=f"{same}",
            fix="count the tokens of the templated prompt; where the count is right, the prompt was cut",
            where=asked(talk.same),
        )
