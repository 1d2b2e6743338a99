"""endpoint/model-name: the model is served under the weight path."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import At, Findings, NotApplicable
from healthcheck.stages.endpoint.answers import MODELS, answered, response_of
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg
from healthcheck.wire.models import model_cards


@check(
    "endpoint/model-name",
    msg("The model is served under {served_name}"),
    why=msg(
        "The service sends {served_name} as the model name; the server answers another name with 404."
    ),
    rule=contract.SERVED_NAME,
    requires=("endpoint/models",),
)
def model_name(interview: Interview) -> Findings:
    """The service uses the weight path, the value of $MODEL_PATH, as the model name in every request.

    `vllm serve "$MODEL_PATH"` serves under that name by default. With --served-model-name, or with a path that
    deploy.sh changed (a copy, a resolved link, a slash at the end), the requests are answered with 404.

    Repair: remove --served-model-name, and serve "$MODEL_PATH" unchanged.
    Simulated by: npu-adapter simulate --fault other-name

    Example:
    With MODEL_PATH=/weights:

    ```http GET /v1/models
    HTTP/1.1 200 OK
    Content-Type: application/json

    {"object": "list", "data": [{"id": "Qwen3-8B", "object": "model"}]}
    ```

    Use instead:

    ```http GET /v1/models
    HTTP/1.1 200 OK
    Content-Type: application/json

    {"object": "list", "data": [{"id": "/weights", "object": "model"}]}
    ```
    """
    names = [str(card["id"]) for card in model_cards(interview.models.body)]
    name, own = interview.asked_name, contract.service().requested("")
    serve = msg("serve it under that name: --served-model-name {name}", name=own)
    if not name:
        raise NotApplicable(
            msg("neither --weights nor --model gives the model name that the service will send")
        )
    first = interview.openings[0]
    refused = first.name == name and interview.name != name and answered(interview.opening.exchange)
    if name in names and not refused:
        return
    seen: str = msg("{models} lists {names}", models=MODELS, names=names)
    if name.rstrip("/") in {served.rstrip("/") for served in names} and not refused:
        expected = msg("a model called {name}, to the letter", name=repr(name))
        fix = serve if own else msg('serve "$MODEL_PATH" as it is given')
        yield At(MODELS).warn(expected=expected, seen=seen, fix=fix)
        return
    if refused:
        seen += msg("; a chat with that name: {response}", response=response_of(first.exchange))
    fix = serve if own else msg('remove --served-model-name, and serve "$MODEL_PATH" itself')
    yield At(MODELS).fail(
        expected=msg("a model called {name}", name=repr(name)), seen=seen, fix=fix
    )
