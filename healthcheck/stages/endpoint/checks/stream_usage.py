"""endpoint/stream-usage: token counts make sense."""

from __future__ import annotations

from healthcheck.core.check import Findings, note
from healthcheck.stages.endpoint.answers import about, prompt_tokens, shown
from healthcheck.stages.endpoint.prompts import FILLER
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import every_stream, miscount, tokens_per_unit
from healthcheck.text.messages import msg


@check(
    "endpoint/stream-usage",
    msg("Token counts make sense"),
    why=msg("Wrong counts falsify the throughput and the lengths in the service's report."),
    requires=("endpoint/stream-finish",),
)
def stream_usage(interview: Interview) -> Findings:
    """The client requests token counts with stream_options.include_usage. They may be missing. If they are there,
    they must be whole numbers, at least one token for a prompt and for a text, in proportion to the text, and
    greater for a longer prompt. Other checks do not use counts that cannot be true.

    Repair: count the tokens of the templated prompt and of the answer, with those of its reasoning.
    Simulated by: npu-adapter simulate --fault wrong-usage

    Example:
    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}

    data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}}

    data: [DONE]
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}

    data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}}

    data: [DONE]
    ```
    """
    streams = tuple(every_stream(interview))
    if not any(stream.folded.usage_sent for stream in streams):
        yield note(
            msg("the server sends no usage in its streams; the evaluation client does without")
        )
    for stream in streams:
        if problem := miscount(stream):
            read = stream.folded
            expected = msg("prompt_tokens and completion_tokens that can be true")
            seen = msg(
                "{problem}: {usage_sent} for {text}",
                problem=problem,
                usage_sent=read.usage_sent,
                text=shown(read.text, 120),
            )
            fix = msg("count the tokens of the templated prompt and of the answer")
            yield about(stream).fail(expected=expected, seen=seen, fix=fix)
            return
    short, longer = (
        (step.exchange for step in interview.steps[:2]) if interview.steps else (None, None)
    )
    fewer, more = prompt_tokens(short), prompt_tokens(longer)
    if longer and fewer and more and tokens_per_unit(interview.steps) is None:
        expected = msg(
            "more than {fewer} prompt tokens with {filler} characters more",
            fewer=fewer,
            filler=2 * len(FILLER),
        )
        fix = msg(
            "count the tokens of the templated prompt; if the count is right, the prompt was cut"
        )
        yield about(longer).fail(expected=expected, seen=f"{more}", fix=fix)
