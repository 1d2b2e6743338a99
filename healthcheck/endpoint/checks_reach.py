"""Is the endpoint there, under the right name, for everybody, with the fields that the evaluation client sends?"""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.endpoint.records import (
    CLIENT_WAITS_S,
    EXTRA_FIELDS,
    Interview,
    answered,
    every_stream,
    model_cards,
)
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Stage

_MODELS = f"GET {contract.MODELS_PATH}"
_DENIALS = frozenset({401, 403})


@check(
    "endpoint/no-auth",
    "The endpoint asks for no API key",
    stage=Stage.ENDPOINT,
    why="The service sends no key: with one required, every request is refused.",
    rule=contract.CHAT_STREAMING,
)
def no_auth(interview: Interview) -> Findings:
    """The service connects to port 8000 and sends no Authorization header, because nobody can tell it a key.

    A server that was started with --api-key, or with the environment variable VLLM_API_KEY, or behind a proxy that
    asks for one, answers 401 or 403 to every request, and the accuracy job fails.

    Repair: remove --api-key from deploy.sh and unset VLLM_API_KEY in it.
    Simulated by: npu-adapter simulate --fault api-key
    """
    exchanges = (interview.models, *(opening.exchange for opening in interview.openings))
    if not any(exchange.status for exchange in exchanges):
        raise NotApplicable("the server did not answer at all")
    denied = next((exchange for exchange in exchanges if exchange.status in _DENIALS), None)
    if denied:
        yield fail(
            expected="an answer without an Authorization header",
            seen=what_came(denied),
            fix="remove --api-key from deploy.sh, and `unset VLLM_API_KEY` before the server starts",
            where=_MODELS if denied is interview.models else asked(denied),
        )


@check(
    "endpoint/models",
    "/v1/models lists the model",
    stage=Stage.ENDPOINT,
    why="The evaluation client takes the model's name from the first entry of /v1/models, waiting 5 s, once.",
    rule=contract.LISTENS_ON_PORT,
)
def models(interview: Interview) -> Findings:
    """GET /v1/models must answer 200 with {"object": "list", "data": [{"id": NAME, …}]}.

    Where the evaluation client has no model name in its configuration it asks this address before anything else,
    takes data[0].id, waits 5 seconds and does not try again: without a list, no request is ever sent.

    Repair: serve with an OpenAI-compatible server (`vllm serve`), or add the route.
    Simulated by: npu-adapter simulate --fault models-500 (models-404, models-empty, models-html,
    hangs)
    """
    answer = interview.models
    if answer.status in _DENIALS:
        raise NotApplicable("the server asks for an API key (endpoint/no-auth)")
    if answer.status != 200 or not model_cards(answer):
        yield fail(
            expected='status 200 with {"object": "list", "data": [{"id": NAME}]}',
            seen=what_came(answer),
            fix="serve GET /v1/models; `vllm serve` does",
            where=_MODELS,
        )
    elif answer.seconds > CLIENT_WAITS_S:
        yield warn(
            expected=f"the list within {CLIENT_WAITS_S} s: the evaluation client waits no longer",
            seen=f"it took {answer.seconds:.1f} s",
            fix="answer /v1/models without waiting for the model",
            where=_MODELS,
        )
    if interview.proxies:
        yield note(f"{', '.join(interview.proxies)} is set here; for an address of this host it was not used")


@check(
    "endpoint/model-name",
    "The model is served under the weight path",
    stage=Stage.ENDPOINT,
    why="The service asks for the weight path as the model; another name is answered with 404.",
    rule=contract.SERVED_NAME,
    requires=("endpoint/models",),
)
def model_name(interview: Interview) -> Findings:
    """The service uses the weight path, the value of $MODEL_PATH, as the model name in every request.

    `vllm serve "$MODEL_PATH"` serves under that name by itself. With --served-model-name, or a path that was
    changed on the way (a copy, a resolved link, a slash at the end), the requests are answered with 404.

    Repair: remove --served-model-name, and serve "$MODEL_PATH" as it is.
    Simulated by: npu-adapter simulate --fault other-name
    """
    names = [str(card["id"]) for card in model_cards(interview.models)]
    name = interview.asked_name
    if not name:
        raise NotApplicable("neither the weights nor --model say under which name the service will ask")
    first = interview.openings[0]
    refused = first.name == name and interview.name != name and answered(interview.opening.exchange)
    if name in names and not refused:
        return
    if name.rstrip("/") in {served.rstrip("/") for served in names} and not refused:
        yield warn(
            expected=f"a model called {name!r}, to the letter",
            seen=f"{_MODELS} lists {names}",
            fix='serve "$MODEL_PATH" as it is given',
            where=_MODELS,
        )
        return
    yield fail(
        expected=f"a model called {name!r}",
        seen=f"{_MODELS} lists {names}"
        + (f"; a chat with that name: {what_came(first.exchange)}" if refused else ""),
        fix='remove --served-model-name, and serve "$MODEL_PATH" itself',
        where=_MODELS,
    )


@check(
    "endpoint/extra-fields",
    "The evaluation client's extra fields are accepted",
    stage=Stage.ENDPOINT,
    why="Every request of the evaluation client carries ignore_eos and num_return_sequences.",
    rule=contract.CLIENT_IS_AISBENCH,
)
def extra_fields(interview: Interview) -> Findings:
    """The client's body has fields that are not OpenAI's: ignore_eos, num_return_sequences, and stream_options.

    A server that refuses unknown fields answers 400 or 422 to every request. One that takes num_return_sequences
    at its word sends several choices in one stream, and the client joins their texts into one answer: the service
    means to repeat the request itself.

    Repair: ignore unknown fields; answer one choice unless `n` says otherwise. `vllm serve` does both.
    Simulated by: npu-adapter simulate --fault strict-fields (five-choices)
    """
    opening = interview.opening
    first = next(each for each in interview.openings if each.name == opening.name)
    if opening.exchange.status != 200:
        raise NotApplicable("no form of chat request was accepted (endpoint/stream)")
    if opening.left_out and first.exchange.status != 200:
        yield fail(
            expected=f"an answer to the evaluation client's body, with {', '.join(opening.left_out)}",
            seen=f"{what_came(first.exchange)}; without them: status 200",
            fix=f"ignore fields that the server does not know: {', '.join((*EXTRA_FIELDS, 'stream_options'))}",
            where=asked(first.exchange),
        )
    streams = (first.exchange, *every_stream(interview))
    several = next((e for e in streams if e.completion and e.completion.choices > 1), None)
    if several and several.completion:
        yield fail(
            expected="one choice in a stream: the client joins the texts of all choices",
            seen=f"{several.completion.choices} choices, joined: {shown(several.completion.text)}",
            fix="answer one choice; num_return_sequences is for the client, which repeats the request itself",
            where=asked(several),
        )
