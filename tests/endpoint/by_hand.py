"""Interviews that were written by hand."""

from __future__ import annotations

from healthcheck.contract import Task
from healthcheck.stages.endpoint.records import Interview, Opening
from healthcheck.wire.chat import Completion, Usage
from healthcheck.wire.client import Exchange

LISTED = Exchange(status=200, body=b'{"object": "list", "data": [{"id": "/weights"}]}')
WORDS = "one two three four five six seven eight nine ten"
PROSE = "The keeper climbed the stairs. Below, the sea threw itself at the rocks, and the lamp turned slowly. He had "


def streamed(
    text: str = WORDS, *, seconds: tuple[float, ...] = (0.1, 0.5, 1.0), **fields: object
) -> Exchange:
    count = len(text.split())
    usual = {"text": text, "finish_reason": "stop", "done": True, "deltas": count, "choices": 1}
    completion = Completion(
        **{**usual, "usage": Usage(prompt_tokens=9, completion_tokens=count), **fields}
    )  # type: ignore[arg-type]
    return Exchange(
        status=200,
        completion=completion,
        arrivals_s=seconds,
        sent={"stream": True, "max_tokens": 24},
    )


def interview(first: Exchange, **fields: object) -> Interview:
    opening = Opening(name="/weights", left_out=(), exchange=first)
    usual = {
        "task": Task.TEXT_GENERATION,
        "models": LISTED,
        "asked_name": "/weights",
    }
    return Interview(**{**usual, "name": "/weights", "openings": (opening,), **fields})  # type: ignore[arg-type]
