"""Faults of the way out: event streams that are broken, cut or spoilt."""

from __future__ import annotations

from dataclasses import replace

from healthcheck.core.records import JsonValue
from healthcheck.simulator.faults import Body, Stream, edited, edited_text


def event_lines(stream: Stream) -> Stream:
    return replace(stream, begun=tuple(b"event: message\n" + block for block in stream.begun))


def id_lines(stream: Stream) -> Stream:
    return replace(stream, begun=tuple(b"id: %d\n" % n + block for n, block in enumerate(stream.begun)))


def one_newline(stream: Stream) -> Stream:
    return replace(stream, begun=tuple(block.rstrip() + b"\n" for block in stream.begun))


def single_quotes(stream: Stream) -> Stream:
    return replace(stream, begun=tuple(block.replace(b'"', b"'") for block in stream.begun))


def latin(stream: Stream) -> Stream:
    return replace(stream, begun=tuple(b.replace(b'"content": "', b'"content": "\xe9') for b in stream.begun))


def after_comment(stream: Stream) -> Stream:
    return replace(stream, begun=tuple(b": ping\n" + block for block in stream.begun))


def message_for_delta(stream: Stream) -> Stream:
    def renamed(event: Body) -> Body:
        for choice in event.get("choices") or []:  # type: ignore[union-attr]
            if isinstance(choice, dict) and "delta" in choice:
                choice["message"] = choice.pop("delta")
        return event

    return edited(stream, renamed)


def null_choices(stream: Stream) -> Stream:
    return edited(stream, lambda event: event if event.get("choices") else {**event, "choices": None})


def burst(stream: Stream) -> Stream:
    return replace(stream, burst=True)


def no_finish(stream: Stream) -> Stream:
    def endless(event: Body) -> Body:
        for choice in event.get("choices") or []:  # type: ignore[union-attr]
            if isinstance(choice, dict):
                choice["finish_reason"] = None
        return event

    return edited(stream, endless)


def no_done(stream: Stream) -> Stream:
    return replace(stream, ended=tuple(block for block in stream.ended if b"[DONE]" not in block))


def wrong_usage(stream: Stream) -> Stream:
    usage: JsonValue = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return edited(stream, lambda event: {**event, "usage": usage} if event.get("usage") else event)


def five_choices(stream: Stream) -> Stream:
    def fivefold(event: Body) -> Body:
        choices = event.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            event["choices"] = [{**choices[0], "index": index} for index in range(5)]
        return event

    return edited(stream, fivefold)


def error_event(stream: Stream) -> Stream:
    error = b'data: {"error": {"message": "EngineCore encountered an issue", "code": 500}}\n\n'
    return replace(stream, begun=_half(stream), ended=(error, b"data: [DONE]\n\n"))


def cut_cleanly(stream: Stream) -> Stream:
    return replace(stream, begun=_half(stream), ended=())


def cut(stream: Stream) -> Stream:
    return replace(stream, begun=_half(stream), ended=(), broken=True)


def lost_token(stream: Stream) -> Stream:
    return replace(stream, begun=stream.begun[:-1])


def doubled_token(stream: Stream) -> Stream:
    begun = stream.begun
    return replace(stream, begun=(begun[0], begun[1], *begun[1:]) if len(begun) > 1 else begun)


def cut_characters(stream: Stream) -> Stream:
    return edited_text(stream, lambda text: "".join("��" if ord(char) > 0x2000 else char for char in text))


def mojibake(stream: Stream) -> Stream:
    return edited_text(stream, lambda text: text.encode().decode("latin-1"))


def dropped_characters(stream: Stream) -> Stream:
    """The result of decode(errors="ignore") on each token if the vocabulary splits some characters."""
    return edited_text(stream, lambda text: "".join(char for char in text if not _in_two_tokens(char)))


def ascii_only(stream: Stream) -> Stream:
    return edited_text(stream, lambda text: "".join(filter(str.isascii, text)))


def _in_two_tokens(char: str) -> bool:
    """Whether a character is a rare one: emoji, and each third Chinese one."""
    return ord(char) > 0xFFFF or (ord(char) > 0x2000 and ord(char) % 3 == 0)


def _half(stream: Stream) -> tuple[bytes, ...]:
    return stream.begun[: max(1, len(stream.begun) // 2)]
