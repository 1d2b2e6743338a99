"""endpoint/extra-fields: the evaluation client's extra fields are accepted."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable
from healthcheck.stages.endpoint.answers import about, response_of, shown
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import every_stream
from healthcheck.text.messages import msg


@check(
    "endpoint/extra-fields",
    msg("The evaluation client's extra fields are accepted"),
    why=msg("Every request of the evaluation client carries ignore_eos and num_return_sequences."),
    rule=contract.CLIENT_IS_AISBENCH,
)
def extra_fields(interview: Interview) -> Findings:
    """The client's requests have fields that OpenAI's API does not have: ignore_eos and num_return_sequences,
    beside stream_options.

    A server that refuses unknown fields answers 400 or 422 to every request. A server that obeys
    num_return_sequences sends several choices in one stream, and the client joins their texts into one answer. The
    client does not need them: it repeats the request itself.

    Repair: ignore unknown fields; send one choice unless `n` is greater. `vllm serve` does both.
    Simulated by: npu-adapter simulate --fault strict-fields (five-choices)

    Example:
    The request has "ignore_eos": false:

    ```http streamed answer
    HTTP/1.1 422 Unprocessable Entity
    Content-Type: application/json

    {"detail": [{"loc": ["body", "ignore_eos"], "msg": "Extra inputs are not permitted"}]}
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}

    data: [DONE]
    ```
    """
    opening = interview.opening
    first = next(each for each in interview.openings if each.name == opening.name)
    if opening.exchange.status != 200:
        raise NotApplicable(msg("no form of chat request was accepted (endpoint/stream)"))
    if opening.left_out and first.exchange.status != 200:
        expected = msg(
            "an answer to the evaluation client's body, with {left_out}",
            left_out=", ".join(opening.left_out),
        )
        seen = msg("{response}; without them: status 200", response=response_of(first.exchange))
        fix = msg("ignore unknown fields: {value}", value=", ".join(opening.left_out))
        yield about(first.exchange).fail(expected=expected, seen=seen, fix=fix)
    streams = (first.exchange, *every_stream(interview))
    several = next((e for e in streams if e.folded.choices > 1), None)
    if several:
        expected = msg("one choice in a stream: the client joins the texts of all choices")
        seen = msg(
            "{choices} choices, joined: {text}",
            choices=several.folded.choices,
            text=shown(several.folded.text),
        )
        fix = msg(
            "answer one choice; num_return_sequences is for the client, which repeats the request itself"
        )
        yield about(several).fail(expected=expected, seen=seen, fix=fix)
