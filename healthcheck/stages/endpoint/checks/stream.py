"""endpoint/stream: chat answers are streamed and contain text."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, fail
from healthcheck.core.records import Finding
from healthcheck.stages.endpoint.answers import DENIALS, about, flaws, response_of, shown
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import every_stream
from healthcheck.text.messages import msg
from healthcheck.text.redact import beginning
from healthcheck.wire.client import Exchange


@check(
    "endpoint/stream",
    msg("Chat answers are streamed, with text in them"),
    why=msg("The service uses the streaming API of {chat_path} and nothing else."),
    rule=contract.CHAT_STREAMING,
)
def stream(interview: Interview) -> Findings:
    """A POST to {chat_path} with "stream": true must answer 200 with a stream of events that carry text.

    The evaluation client does not object to an error event inside a stream, a stream without text, or an answer
    that is all in the reasoning field: it scores them as wrong answers, and its report does not say so. A status
    other than 200 is final, and the client does not follow redirects.

    Repair: send the quoted request with curl, and read the server's log at that time. If an answer is all reasoning
    and the model does not reason, remove --reasoning-parser.
    Simulated by: npu-adapter simulate --fault error-event (chat-404, chat-500, redirect, never-streams,
    never-answers, says-nothing, reasoning-only)

    Example:
    The request has "stream": true:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: application/json

    {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Paris."}, "finish_reason": "stop"}]}
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
    opening = interview.opening.exchange
    if opening.status in DENIALS:
        raise NotApplicable(msg("the server asks for an API key (endpoint/no-auth)"))
    if not opening.status and not interview.models.status:
        raise NotApplicable(msg("the server answers nothing at all (endpoint/models)"))
    if finding := _refused(opening):
        yield finding
        return
    streams = tuple(every_stream(interview))
    failing = [exchange for exchange in streams if exchange.folded.error]
    if failing:
        error = shown(failing[0].folded.error)
        seen = msg(
            "in {failing} of {streams} streams: {error}",
            failing=len(failing),
            streams=len(streams),
            error=error,
        )
        fix = msg(
            "look for this error in the server's log; the evaluation client scores such a stream as an answer"
        )
        yield about(failing[0]).fail(
            expected=msg("no error inside a stream of status 200"), seen=seen, fix=fix
        )
        return
    if finding := _without_text(streams):
        yield finding


def _refused(opening: Exchange) -> Finding | None:
    """A fault of the whole first answer."""
    seen: str
    fix = msg(
        "serve POST {chat_path}; read the server's log at the moment of this request",
        chat_path=contract.CHAT_PATH,
    )
    if 300 <= opening.status < 400:
        to = repr(opening.headers.get("location", "nowhere"))
        seen = msg("a redirect, status {status} to {get}", status=opening.status, get=to)
        fix = msg("answer at {chat_path} itself", chat_path=contract.CHAT_PATH)
    elif opening.status != 200:
        seen = response_of(opening)
    elif not opening.folded.deltas and opening.body.lstrip()[:1] in {b"{", b"["}:
        seen = msg("a plain body: {response}", response=response_of(opening))
        fix = msg('answer "stream": true with server-sent events')
    elif opening.error and not opening.folded.events:
        seen = msg("status 200 and then {error}", error=opening.error)
    else:
        return None
    return about(opening).fail(
        expected=msg("status 200 and a stream of events"), seen=seen, fix=fix
    )


def _without_text(streams: tuple[Exchange, ...]) -> Finding | None:
    completions = [each.folded for each in streams if not flaws(each)]
    if not completions or any(completion.text.strip() for completion in completions):
        return None
    ended = [completion for completion in completions if completion.finish_reason == "stop"]
    reasoned = [completion for completion in ended if completion.reasoning]
    if reasoned:
        seen = msg(
            "all {ended} answers that ended are in the reasoning field: {reasoning}",
            ended=len(ended),
            reasoning=shown(reasoned[0].reasoning),
        )
        fix = msg("remove --reasoning-parser, or choose the one that fits this model")
        return fail(expected=msg("an answer in delta.content"), seen=seen, fix=fix)
    if any(completion.reasoning for completion in completions):
        return None  # a reasoning model, cut by max_tokens before its answer
    raw = shown(beginning(streams[0].body[:8000].decode("utf-8", "replace"), 600))
    seen = msg(
        "none of {completions} streams has any text; the first: {raw}",
        completions=len(completions),
        raw=raw,
    )
    fix = msg(
        "ask the server for a plain answer and compare; check the chat template and max_tokens"
    )
    return about(streams[0]).fail(expected=msg("text in delta.content"), seen=seen, fix=fix)
