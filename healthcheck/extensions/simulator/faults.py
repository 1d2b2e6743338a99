"""The faults of a simulated endpoint, each with the check that it fails.

A fault refuses a request, never answers it, or changes the request, the completion or the bytes of the stream. The
server knows these five hooks, and no fault by its name.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.generation import Generation
from healthcheck.extensions.simulator.next_token import Choice, Step
from healthcheck.extensions.simulator.request import Request

_MOST_MESSAGES = 64


@dataclass(slots=True)
class ServerState:
    """The state that a simulated server keeps between requests. Only faults use it.

    Attributes:
        stuck: whether chat requests are no longer answered.
        concurrent: the number of chat requests in progress.
        history: the latest messages of all clients.
        in_progress: the current generations, the oldest first.
        random: for faults that occur at random.
        answers, first_s, whole_s: how many answers there were, and the seconds until their first and last tokens.
    """

    stuck: bool = False
    concurrent: int = 0
    history: deque[dict[str, JsonValue]] = field(
        default_factory=lambda: deque(maxlen=_MOST_MESSAGES)
    )
    in_progress: list[Generation] = field(default_factory=list)
    random: random.Random = field(default_factory=lambda: random.Random(0))
    answers: int = 0
    first_s: float = 0.0
    whole_s: float = 0.0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count one chat request for its duration."""
        self.concurrent += 1
        try:
            yield
        finally:
            self.concurrent -= 1

    @contextmanager
    def generating(self, generation: Generation) -> Iterator[None]:
        """Register one generation for its duration."""
        self.in_progress.append(generation)
        try:
            yield
        finally:
            self.in_progress = [each for each in self.in_progress if each is not generation]

    def clock(self, first_s: float, rest_s: float) -> None:
        """Add the engine's times for one answer."""
        self.answers += 1
        self.first_s += first_s
        self.whole_s += first_s + rest_s

    def metrics(self) -> str:
        """What vLLM reports of its times."""
        return (
            f'vllm:time_to_first_token_seconds_sum{{engine="0"}} {self.first_s}\n'
            f'vllm:e2e_request_latency_seconds_sum{{engine="0"}} {self.whole_s}\n'
            f'vllm:e2e_request_latency_seconds_count{{engine="0"}} {self.answers}\n'
            f'vllm:time_to_first_token_seconds_count{{engine="0"}} {self.answers}\n'
        )

    def neighbour(self, generation: Generation) -> Generation | None:
        """The generation in progress that began just before this one; for the oldest, the newest."""
        places = [place for place, each in enumerate(self.in_progress) if each is generation]
        other = self.in_progress[places[0] - 1] if places else None
        return None if other is generation else other


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole response that is not a stream."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The blocks of a stream, including blank lines.

    Attributes:
        begun: blocks with text, one after another at the model's pace.
        ended: blocks after the text.
        burst: whether everything is held back and sent at the end.
        broken: whether the connection is cut before the end of the body.
    """

    begun: tuple[bytes, ...]
    ended: tuple[bytes, ...]
    burst: bool = False
    broken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A named fault.

    Attributes:
        check: the id of the check that it fails.
        text: what is wrong, in words.
        warns: whether the check only warns.
        pause_s: seconds before the first byte of each answer, so that requests overlap.
        step_s: the least seconds for each token.
        replicas_of_a_seed: as many requests as this draw the same.
        deaf: whether no path ever answers.
        dies_after: the number of answered chat requests after which the server ends; None if it does not.
        sticks_after: "disconnect" or "problem": after the first of them, no chat request is answered.
        serves: the served model name, if it is not the right one.
        malformed: the status of the answer to a body that is not a chat request.
        streams: whether `stream: true` is obeyed.
        stalls: whether a stream stops in its middle, with the connection open.
        content_type: of streams, instead of the dialect's.
        counts_all: whether usage counts the prompt as sent, however it was changed.
        with_field: the stream is changed only if the request has this field.
        refuse: the response to a refused request.
        hangs: whether a chat request is never answered.
        on_request: changes the request before the model gets it.
        on_generation: changes the completion.
        on_overlap: changes a streamed completion while others are in progress.
        on_stream: changes the bytes of a stream.
        on_logits: changes the logits of a token of /v1/completions.
        on_choice: changes what is told of a token there, or what it is drawn from.
    """

    name: str
    check: str
    text: str
    warns: bool = False
    pause_s: float = 0.0
    step_s: float = 0.0
    replicas_of_a_seed: int = 1
    deaf: bool = False
    dies_after: int | None = None
    sticks_after: str = ""
    serves: str = ""
    malformed: int = 0
    streams: bool = True
    stalls: bool = False
    content_type: str = ""
    counts_all: bool = False
    with_field: str = ""
    refuse: Callable[[Request], Reply | None] | None = None
    hangs: Callable[[Request, ServerState], bool] | None = None
    on_request: Callable[[Request, ServerState], Request] | None = None
    on_generation: Callable[[Generation, Request], Generation] | None = None
    on_overlap: Callable[[Generation, ServerState], Generation] | None = None
    on_stream: Callable[[Stream], Stream] | None = None
    on_logits: Callable[[Sequence[float], Step], Sequence[float]] | None = None
    on_choice: Callable[[Choice, Step], Choice] | None = None


def reply(status: int, body: object = None, **headers: str) -> Reply:
    """A JSON response, by default FastAPI's body for the status."""
    if body is None:
        body = {"detail": HTTPStatus(status).phrase}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status=status, body=data, headers={"content-type": "application/json", **headers})


def refusal(status: int, message: str) -> Reply:
    """An error in OpenAI's form."""
    return reply(status, {"error": {"message": message, "type": "BadRequestError", "code": status}})


def with_fields(request: Request, **fields: JsonValue) -> Request:
    """A copy of the request with other fields."""
    return replace(request, body={**(request.body or {}), **fields})
