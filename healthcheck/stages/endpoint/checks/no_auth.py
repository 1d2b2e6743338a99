"""endpoint/no-auth: the endpoint requires no API key."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, fail
from healthcheck.stages.endpoint.answers import DENIALS, MODELS, request_of, response_of
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg


@check(
    "endpoint/no-auth",
    msg("The endpoint requires no API key"),
    why=msg("The service sends no key: a server that requires one refuses every request."),
    rule=contract.CHAT_STREAMING,
)
def no_auth(interview: Interview) -> Findings:
    """The service connects to port {port} and sends no Authorization header, because there is no way to give it a
    key.

    A server that requires a key answers 401 or 403 to every request, and the accuracy job fails. Usual causes:
    --api-key in deploy.sh, the environment variable VLLM_API_KEY, a proxy with its own key.

    Repair: remove --api-key from deploy.sh and unset VLLM_API_KEY in it.
    Simulated by: npu-adapter simulate --fault api-key

    Example:
    ```http streamed answer
    HTTP/1.1 401 Unauthorized
    Content-Type: application/json

    {"error": "Unauthorized"}
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}

    data: [DONE]
    ```
    """
    exchanges = (interview.models, *(opening.exchange for opening in interview.openings))
    if not any(exchange.status for exchange in exchanges):
        raise NotApplicable(msg("the server did not answer at all"))
    denied = next((exchange for exchange in exchanges if exchange.status in DENIALS), None)
    if denied:
        expected = msg("an answer without an Authorization header")
        fix = msg(
            "remove --api-key from deploy.sh, and `unset VLLM_API_KEY` before the server starts"
        )
        where = MODELS if denied is interview.models else request_of(denied)
        yield fail(expected=expected, seen=response_of(denied), fix=fix, where=where)
