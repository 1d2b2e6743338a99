"""The faults that a simulated endpoint can be given, each with the check that it trips.

A fault refuses a request, never answers it, or changes the request, the completion or the bytes of the stream. The
server knows these five places, and no fault by its name.
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
from healthcheck.simulator.generation import Generation
from healthcheck.simulator.next_token import Step
from healthcheck.simulator.request import Request

_MOST_MESSAGES = 64


@dataclass(slots=True)
class ServerState:
    """The state that a simulated server keeps between requests. Only faults use it.

    Attributes:
        stuck: no chat request is answered any more.
        concurrent: how many chat requests are being answered now.
        history: the latest messages of all clients.
        in_progress: the current generations, the oldest first.
        random: for faults that occur at random.
    """

    stuck: bool = False
    concurrent: int = 0
    history: deque[dict[str, JsonValue]] = field(default_factory=lambda: deque(maxlen=_MOST_MESSAGES))
    in_progress: list[Generation] = field(default_factory=list)
    random: random.Random = field(default_factory=lambda: random.Random(0))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count one chat request while it lasts."""
        self.concurrent += 1
        try:
            yield
        finally:
            self.concurrent -= 1

    @contextmanager
    def generating(self, generation: Generation) -> Iterator[None]:
        """Register one generation while it lasts."""
        self.in_progress.append(generation)
        try:
            yield
        finally:
            self.in_progress = [each for each in self.in_progress if each is not generation]

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
    """The blocks of a stream, blank lines included.

    Attributes:
        begun: blocks with text, one after another at the model's pace.
        ended: blocks after the text.
        burst: everything is held back and sent at the end.
        broken: the connection is cut instead of the body being ended.
    """

    begun: tuple[bytes, ...]
    ended: tuple[bytes, ...]
    burst: bool = False
    broken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A named fault.

    Attributes:
        check: the id of the check that it trips.
        text: what is wrong, in words.
        warns: the check warns; with the other faults it fails.
        pause_s: seconds before the first byte of each answer, so that requests overlap.
        step_s: the least seconds for each token.
        deaf: nothing is ever answered, on no path.
        dies_after: how many chat requests are answered before the server ends; None if it does not.
        sticks_after: "disconnect" or "problem": no chat request is answered after the first of them.
        serves: the served model name, if it is not the right one.
        malformed: the status of the answer to a body that is not a chat request.
        streams: `stream: true` is obeyed.
        stalls: a stream stops in its middle, and the connection stays open.
        content_type: of streams, in place of the dialect's.
        counts_all: usage counts the prompt as it was sent, however it was changed.
        with_field: the stream is changed only where the request has this field.
        refuse: the response to a request that is refused.
        hangs: whether a chat request is never answered.
        on_request: changes the request before the model gets it.
        on_generation: changes the completion.
        on_overlap: changes a streamed completion while others are in progress.
        on_stream: changes the bytes of a stream.
        on_logits: changes the logits of a token of /v1/completions.
    """

    name: str
    check: str
    text: str
    warns: bool = False
    pause_s: float = 0.0
    step_s: float = 0.0
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


def reply(status: int, body: object = None, **headers: str) -> Reply:
    """A JSON response, by default what FastAPI says of its status."""
    if body is None:
        body = {"detail": HTTPStatus(status).phrase}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status=status, body=data, headers={"content-type": "application/json", **headers})


def refusal(status: int, message: str) -> Reply:
    """An error in OpenAI's form."""
    return reply(status, {"error": {"message": message, "type": "BadRequestError", "code": status}})


def with_fields(request: Request, **fields: JsonValue) -> Request:
    """The request with other fields."""
    return replace(request, body={**(request.body or {}), **fields})
