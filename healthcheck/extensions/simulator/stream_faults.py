"""Faults of responses: event streams that are broken, cut or corrupted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.faults import Stream

Event = dict[str, JsonValue]
Spoil = Callable[[Stream], Stream]


def _blocks(edit: Callable[[bytes], bytes]) -> Spoil:
    """Edit every block of the answer, except those that end the stream."""
    return lambda stream: replace(stream, begun=tuple(map(edit, stream.begun)))


def _events(edit: Callable[[Event], Event]) -> Spoil:
    """Edit every JSON event."""

    def in_block(block: bytes) -> bytes:
        body = block.strip()
        prefix = body[: len(body) - len(body.removeprefix(b"data:").lstrip())]
        rest = body.removeprefix(b"data:").strip()
        if not rest.startswith(b"{"):
            return block
        event = edit(json.loads(rest))
        return (
            prefix + json.dumps(event, ensure_ascii=False).encode() + block[len(block.rstrip()) :]
        )

    return lambda stream: replace(
        stream, begun=tuple(map(in_block, stream.begun)), ended=tuple(map(in_block, stream.ended))
    )


def _choices(edit: Callable[[Event], None]) -> Spoil:
    """Change every choice of every event."""

    def in_event(event: Event) -> Event:
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict):
                edit(choice)
        return event

    return _events(in_event)


def _texts(edit: Callable[[str], str]) -> Spoil:
    """Edit the text of every delta."""

    def in_choice(choice: Event) -> None:
        delta = choice.get("delta")
        if isinstance(delta, dict) and delta.get("content"):
            delta["content"] = edit(str(delta["content"]))

    return _choices(in_choice)


event_lines = _blocks(lambda block: b"event: message\n" + block)
one_newline = _blocks(lambda block: block.rstrip() + b"\n")
single_quotes = _blocks(lambda block: block.replace(b'"', b"'"))
latin = _blocks(lambda block: block.replace(b'"content": "', b'"content": "\xe9'))
after_comment = _blocks(lambda block: b": ping\n" + block)
null_choices = _events(lambda event: event if event.get("choices") else {**event, "choices": None})
message_for_delta = _choices(lambda choice: choice.update(message=choice.pop("delta")))
no_finish = _choices(lambda choice: choice.update(finish_reason=None))
cut_characters = _texts(lambda text: "".join("��" if ord(char) > 0x2000 else char for char in text))
mojibake = _texts(lambda text: text.encode().decode("latin-1"))
dropped_characters = _texts(lambda text: "".join(char for char in text if not _in_two_tokens(char)))
"""The result of decode(errors="ignore") on each token if the vocabulary splits some characters."""
ascii_only = _texts(lambda text: "".join(filter(str.isascii, text)))


def _in_two_tokens(char: str) -> bool:
    """Whether a character counts as rare: emoji, and every third Chinese one."""
    return ord(char) > 0xFFFF or (ord(char) > 0x2000 and ord(char) % 3 == 0)


def id_lines(stream: Stream) -> Stream:
    return replace(
        stream, begun=tuple(b"id: %d\n" % n + block for n, block in enumerate(stream.begun))
    )


def burst(stream: Stream) -> Stream:
    return replace(stream, burst=True)


def no_done(stream: Stream) -> Stream:
    return replace(stream, ended=tuple(block for block in stream.ended if b"[DONE]" not in block))


@_events
def wrong_usage(event: Event) -> Event:
    usage: JsonValue = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {**event, "usage": usage} if event.get("usage") else event


@_events
def five_choices(event: Event) -> Event:
    choices = event.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        event["choices"] = [{**choices[0], "index": index} for index in range(5)]
    return event


def error_event(stream: Stream) -> Stream:
    error = b'data: {"error": {"message": "EngineCore encountered an issue", "code": 500}}\n\n'
    return replace(stream, begun=_half(stream), ended=(error, b"data: [DONE]\n\n"))


def cut_cleanly(stream: Stream) -> Stream:
    return replace(stream, begun=_half(stream), ended=())


def cut(stream: Stream) -> Stream:
    return replace(stream, begun=_half(stream), ended=(), broken=True)


def lost_token(stream: Stream) -> Stream:
    return replace(stream, begun=stream.begun[:-1])


def without_40th(stream: Stream) -> Stream:
    return replace(stream, begun=stream.begun[:39] + stream.begun[40:])


def late_text(stream: Stream) -> Stream:
    """Move the last block with text behind the one with finish_reason."""
    return replace(
        stream,
        begun=stream.begun[:-1],
        ended=(*stream.ended[:1], *stream.begun[-1:], *stream.ended[1:]),
    )


def doubled_token(stream: Stream) -> Stream:
    begun = stream.begun
    return replace(stream, begun=(begun[0], begun[1], *begun[1:]) if len(begun) > 1 else begun)


def _half(stream: Stream) -> tuple[bytes, ...]:
    return stream.begun[: max(1, len(stream.begun) // 2)]
