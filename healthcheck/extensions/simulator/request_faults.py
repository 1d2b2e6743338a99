"""Faults of requests: they are refused, or reach the model changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.faults import Reply, ServerState, refusal, reply, with_fields
from healthcheck.extensions.simulator.request import Request, images_of, text_of, with_text

EXTRA_FIELDS = ("ignore_eos", "num_return_sequences")
LONG_TOKENS = 200
MOST_TOKENS = 4096


def chat(request: Request) -> bool:
    return request.path.endswith("/chat/completions")


def _answered(
    answer: Reply, asked: Callable[[Request], object]
) -> Callable[[Request], Reply | None]:
    """Give this response to requests with a certain property."""
    return lambda request: answer if asked(request) else None


def at_chat(status: int, body: object = None, **headers: str) -> Callable[[Request], Reply | None]:
    """Give this response to every chat request."""
    return _answered(reply(status, body, **headers), chat)


def at_models(status: int, body: object = None) -> Callable[[Request], Reply | None]:
    """Give this response to every request for the model list."""
    return _answered(reply(status, body), lambda request: request.path.endswith("/models"))


def sets(**fields: JsonValue) -> Callable[[Request, ServerState], Request]:
    """Replace these fields of every request."""
    return lambda request, _: with_fields(request, **fields)


def _with_messages(
    edited: Callable[[Request], list[dict[str, JsonValue]]],
) -> Callable[[Request, ServerState], Request]:
    """Replace the messages of every request."""
    return lambda request, _: with_fields(request, messages=list[JsonValue](edited(request)))


def _of(request: Request, role: str) -> list[dict[str, JsonValue]]:
    return [dict(message) for message in request.messages if message.get("role") == role]


def unlimited(request: Request, _: ServerState) -> Request:
    return with_fields(request, max_tokens=max(200, int(request.number_of("max_tokens", 0))))


refuses_all = _answered(
    refusal(401, "Unauthorized: an API key is required"),
    lambda request: "authorization" not in request.headers,
)
refuses_history = _answered(
    refusal(400, "only one message is supported"),
    lambda request: len(request.messages) > len(_of(request, "system")) + 1,
)
refuses_system = _answered(
    refusal(400, "System role not supported"), lambda request: _of(request, "system")
)
refuses_images = _answered(
    refusal(400, "this model is not a multimodal model"),
    lambda request: any(map(images_of, request.messages)),
)
fails_long = _answered(reply(500), lambda request: request.prompt_tokens > 600)
busy = _answered(
    refusal(503, "too many requests"), lambda request: chat(request) and request.concurrent >= 3
)
no_plain = _answered(
    reply(500), lambda request: "max_tokens" in (request.body or {}) and not request.streamed
)
without_system = _with_messages(
    lambda request: [dict(m) for m in request.messages if m.get("role") != "system"]
)
last_only = _with_messages(
    lambda request: [*_of(request, "system"), *map(dict, request.messages[-1:])]
)
first_turn_only = _with_messages(lambda request: _of(request, "system") + _of(request, "user")[:1])
ascii_prompts = _with_messages(
    lambda request: [
        with_text(m, "".join(filter(str.isascii, text_of(m)))) for m in request.messages
    ]
)
without_pictures = _with_messages(
    lambda request: [{**m, "content": text_of(m)} for m in request.messages]
)


def refuses_extra(request: Request) -> Reply | None:
    unknown = [key for key in EXTRA_FIELDS if key in (request.body or {})]
    return (
        reply(422, {"detail": f"Unexpected fields: {unknown}"})
        if chat(request) and unknown
        else None
    )


def tail_only(request: Request, _: ServerState) -> Request:
    """Keep only the last 300 tokens of long prompts."""
    return _last(request, 300) if request.prompt_tokens > 400 else request


def halved(request: Request, _: ServerState) -> Request:
    """Keep only the last half of long prompts."""
    whole = request.prompt_tokens
    return _last(request, whole - whole // 2) if whole > LONG_TOKENS else request


def last_tokens(request: Request, _: ServerState) -> Request:
    """Keep at most the last MOST_TOKENS tokens."""
    return _last(request, MOST_TOKENS) if request.prompt_tokens > MOST_TOKENS else request


def without_middle(request: Request, _: ServerState) -> Request:
    """Remove the middle third of long prompts."""
    whole = request.prompt_tokens
    if whole <= LONG_TOKENS:
        return request
    lost = whole // 3
    start = (whole - lost) // 2
    return _keeping(request, lambda place: not start <= place < start + lost, whole - lost)


def _last(request: Request, most: int) -> Request:
    start = request.prompt_tokens - most
    return _keeping(request, lambda place: place >= start, most)


def _keeping(request: Request, kept: Callable[[int], bool], tokens: int) -> Request:
    """The request with the text of the kept places only; the template's own tokens count as before the text."""
    pieces = [request.tokenizer.pieces(text_of(message)) for message in request.messages]
    place = request.prompt_tokens - sum(map(len, pieces))
    messages: list[JsonValue] = []
    for message, text in zip(request.messages, pieces, strict=True):
        left = "".join(piece for offset, piece in enumerate(text, place) if kept(offset))
        messages.append(with_text(message, left))
        place += len(text)
    return replace(with_fields(request, messages=messages), kept_tokens=tokens)


def after_everybody(request: Request, state: ServerState) -> Request:
    """Prepend the messages of all earlier requests."""
    own = [dict(m) for m in request.messages]
    before = list(state.history)
    state.history.extend(own)
    return with_fields(request, messages=[*before, *own])


def hangs_in_a_crowd(request: Request, state: ServerState) -> bool:
    return chat(request) and state.concurrent > 4


def hangs_when_stuck(request: Request, state: ServerState) -> bool:
    return chat(request) and state.stuck


def hangs_at(number: int) -> Callable[[Request, ServerState], bool]:
    """Whether this is the chat request with this number, counted from 1."""
    return lambda request, _: request.number == number - 1
