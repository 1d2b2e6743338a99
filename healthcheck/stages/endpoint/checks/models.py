"""endpoint/models: /v1/models lists the model."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import At, Findings, NotApplicable, note
from healthcheck.stages.endpoint.answers import DENIALS, MODELS, response_of
from healthcheck.stages.endpoint.records import CLIENT_WAITS_S, Interview, check
from healthcheck.text.messages import msg
from healthcheck.wire.models import model_cards


@check(
    "endpoint/models",
    msg("/v1/models lists the model"),
    why=msg(
        "The evaluation client takes the model's name from the first entry of /v1/models, and waits 5 s for it."
    ),
    rule=contract.LISTENS_ON_PORT,
)
def models(interview: Interview) -> Findings:
    """GET /v1/models must answer 200 with {"object": "list", "data": [{"id": NAME, …}]}.

    If the evaluation client has no model name in its configuration, it requests this list first and takes
    data[0].id. It waits 5 seconds and does not retry: without a list it sends no further request.

    Repair: serve with an OpenAI-compatible server (`vllm serve`), or add the route.
    Simulated by: npu-adapter simulate --fault models-500 (models-404, models-empty, models-html,
    hangs)

    Example:
    ```http GET /v1/models
    HTTP/1.1 404 Not Found
    Content-Type: application/json

    {"detail": "Not Found"}
    ```

    Use instead:

    ```http GET /v1/models
    HTTP/1.1 200 OK
    Content-Type: application/json

    {"object": "list", "data": [{"id": "/weights", "object": "model"}]}
    ```
    """
    answer = interview.models
    if answer.status in DENIALS:
        raise NotApplicable(msg("the server requires an API key (endpoint/no-auth)"))
    if answer.status != 200 or not model_cards(answer.body):
        expected = msg('status 200 with {"object": "list", "data": [{"id": NAME}]}')
        fix = msg("serve GET /v1/models; `vllm serve` does")
        yield At(MODELS).fail(expected=expected, seen=response_of(answer), fix=fix)
    elif answer.seconds > CLIENT_WAITS_S:
        expected = msg(
            "the list within {client_waits_s} s: the evaluation client waits no longer",
            client_waits_s=CLIENT_WAITS_S,
        )
        fix = msg("answer /v1/models without waiting for the model")
        yield At(MODELS).warn(
            expected=expected, seen=msg("it took {seconds:.1f} s", seconds=answer.seconds), fix=fix
        )
    if interview.proxies:
        names = ", ".join(interview.proxies)
        yield note(
            msg("{proxies} is set here; for an address of this host it was not used", proxies=names)
        )
