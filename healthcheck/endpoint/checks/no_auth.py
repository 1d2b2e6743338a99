"""endpoint/no-auth: the endpoint asks for no API key."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.wording import DENIALS, MODELS, asked, what_came
from healthcheck.records import Stage


@check(
    "endpoint/no-auth",
    "The endpoint requires no API key",
    stage=Stage.ENDPOINT,
    why="The service sends no key: with one required, every request is refused.",
    rule=contract.CHAT_STREAMING,
)
def no_auth(interview: Interview) -> Findings:
    """The service connects to port {port} and sends no Authorization header, because nobody can tell it a key.

    A server that was started with --api-key, or with the environment variable VLLM_API_KEY, or behind a proxy that
    asks for one, answers 401 or 403 to every request, and the accuracy job fails.

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
        raise NotApplicable("the server did not answer at all")
    denied = next((exchange for exchange in exchanges if exchange.status in DENIALS), None)
    if denied:
        yield fail(
            expected="an answer without an Authorization header",
            seen=what_came(denied),
            fix="remove --api-key from deploy.sh, and `unset VLLM_API_KEY` before the server starts",
            where=MODELS if denied is interview.models else asked(denied),
        )
