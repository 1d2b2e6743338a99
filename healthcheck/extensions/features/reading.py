"""Reads an answer: a plain one, or a stream whose deltas are put together as a client does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from healthcheck.core.records import JsonValue
from healthcheck.extensions.features.records import Answer, Call
from healthcheck.extensions.features.schema import at, list_at, quoted, text_at
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange
from healthcheck.wire.sse import Decoder


def read(exchange: Exchange) -> Answer:
    """The answer of an exchange, whatever it is."""
    if exchange.error or exchange.status != 200:
        status = 0 if exchange.error else exchange.status
        return Answer(
            status=status,
            said=exchange.error or quoted(exchange.body.decode(errors="replace").strip()),
        )
    try:
        return replace(
            _folded(list(_bodies(exchange)), exchange.folded.error), seconds=exchange.seconds
        )
    except JsonError as error:
        return Answer(said=msg("not JSON: {error}", error=error))


def _bodies(exchange: Exchange) -> Iterator[JsonValue]:
    decoder = Decoder()
    streamed = (
        block.text
        for block in (*decoder.feed(exchange.body), *decoder.close())
        if block.text[0] != ":"
    )
    for text in (
        [exchange.body.decode(errors="replace")] if exchange.completion is None else streamed
    ):
        if (data := text.removeprefix("data:").strip()) != "[DONE]":
            yield json_text.load(data)


def _folded(bodies: list[JsonValue], said: str) -> Answer:
    choices = [choice for body in bodies for choice in list_at(body, "choices")]
    first = [choice for choice in choices if not at(choice, "index")]
    messages = [at(choice, "message") or at(choice, "delta") for choice in first]
    calls: dict[str, Call] = {}
    for message in messages:
        for place, piece in enumerate(list_at(message, "tool_calls")):
            index = text_at(piece, "index") or str(place)
            name, arguments = (text_at(piece, "function", key) for key in ("name", "arguments"))
            had = calls.get(index, Call("", "", ""))
            calls[index] = Call(
                had.id or text_at(piece, "id"), had.name + name, had.arguments + arguments
            )
    return Answer(
        text="".join(text_at(each, "content") for each in messages),
        reasoning="".join(
            text_at(each, "reasoning_content") or text_at(each, "reasoning") for each in messages
        ),
        finish="".join(text_at(each, "finish_reason") for each in first),
        calls=tuple(calls.values()),
        choices=len({text_at(choice, "index") for choice in choices}),
        tokens=_counted(bodies, "completion_tokens"),
        read=_counted(bodies, "prompt_tokens"),
        said=said or ("" if choices else msg("an answer without choices")),
    )


def _counted(bodies: list[JsonValue], name: str) -> int | None:
    """The last count of the server, None if it does not count. Above 2**53, no float holds it."""
    counts = (at(body, "usage", name) for body in reversed(bodies))
    return next((n for n in counts if isinstance(n, int) and 0 <= n <= 2**53), None)
