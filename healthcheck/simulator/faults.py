"""The faults that a simulated endpoint can be given, each with the check that it trips.

A fault acts at one of a few joints: it refuses a request or never answers it, changes what the model hears or says,
or changes the bytes of a stream. The server knows the joints and no fault by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from healthcheck.records import JsonValue
from healthcheck.simulator.memory import Memory
from healthcheck.simulator.request import Request
from healthcheck.simulator.spoken import Spoken

Body = dict[str, JsonValue]


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
        warns: it makes the check warn, where the others make it fail.
        pause_s: every answer takes so long before its first byte, so that requests overlap.
        step_s: every token takes at least so long.
        deaf: nothing is ever answered, on no path.
        dies_after: how many chat requests are answered before the server is gone; None for a lasting one.
        sticks_after: "disconnect" or "problem": no chat request is answered after the first of them.
        serves: the name under which the model is served in place of its own.
        malformed: the status of the answer to a body that is not a chat request.
        streams: `stream: true` is heard.
        stalls: a stream stops in its middle, and the connection stays open.
        content_type: of streams, in place of the dialect's.
        counts_all: usage counts the prompt as it was sent, whatever the model hears of it.
        with_field: the stream is changed only where the request has this field.
        refuse: the answer to a request that is not taken.
        hangs: whether a chat request is never answered.
        hear: what the model hears in place of the request.
        recall: the same, with what came before.
        speak: what the server makes of an answer.
        mingle: what it makes of a streamed one while others are being made.
        stream: what it makes of the bytes.
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
    hangs: Callable[[Request, Memory], bool] | None = None
    hear: Callable[[Request], Request] | None = None
    recall: Callable[[Request, Memory], Request] | None = None
    speak: Callable[[Spoken, Request], Spoken] | None = None
    mingle: Callable[[Spoken, Memory], Spoken] | None = None
    stream: Callable[[Stream], Stream] | None = None


def reply(status: int, body: object, **headers: str) -> Reply:
    """A JSON response."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status=status, body=data, headers={"content-type": "application/json", **headers})


def refusal(status: int, message: str) -> Reply:
    """An error in OpenAI's form."""
    return reply(status, {"error": {"message": message, "type": "BadRequestError", "code": status}})


def hears(request: Request, **fields: JsonValue) -> Request:
    """The request with other fields."""
    return replace(request, body={**(request.body or {}), **fields})


def edited(stream: Stream, edit: Callable[[Body], Body]) -> Stream:
    """The stream with every JSON event edited."""
    return replace(
        stream,
        begun=tuple(_edit(block, edit) for block in stream.begun),
        ended=tuple(_edit(block, edit) for block in stream.ended),
    )


def edited_text(stream: Stream, edit: Callable[[str], str]) -> Stream:
    """The stream with the text of every delta edited."""

    def in_event(event: Body) -> Body:
        for choice in event.get("choices") or []:  # type: ignore[union-attr]
            if isinstance(choice, dict) and isinstance(delta := choice.get("delta"), dict) and delta.get("content"):
                delta["content"] = edit(str(delta["content"]))
        return event

    return edited(stream, in_event)


def _edit(block: bytes, edit: Callable[[Body], Body]) -> bytes:
    body = block.strip()
    prefix = body[: len(body) - len(body.removeprefix(b"data:").lstrip())]
    rest = body.removeprefix(b"data:").strip()
    if not rest.startswith(b"{"):
        return block
    event = edit(json.loads(rest))
    return prefix + json.dumps(event, ensure_ascii=False).encode() + block[len(block.rstrip()) :]
