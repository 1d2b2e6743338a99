"""Asks a server for each feature once, and keeps the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

from healthcheck.core.progress import Progress
from healthcheck.core.records import JsonValue
from healthcheck.engines.vllm import VLLM
from healthcheck.errors import UsageError
from healthcheck.extensions.features import records
from healthcheck.extensions.features.long_texts import ask_long
from healthcheck.extensions.features.reading import read
from healthcheck.extensions.features.records import (
    AGAIN,
    STREAMED,
    Answer,
    Body,
    FeaturesRun,
    Trial,
)
from healthcheck.extensions.features.schema import at, list_at
from healthcheck.stages.probe.data_sets.rows import rows_of
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.run.server import describe
from healthcheck.system import json_text
from healthcheck.system.files import read_text
from healthcheck.text.messages import msg
from healthcheck.wire.client import Client, Limits

REQUESTS, TRIALS = (Path(__file__).with_name(name) for name in ("requests.json", "trials.jsonl"))
AT_ONCE, ROOM, MOST_BYTES = 8, 1024, 2**28
ROOM_TO_THINK = 2048
_LIMITS = Limits(first_event_s=600.0, between_events_s=120.0)
ASIDE = Limits(total_s=20.0, max_bytes=2**16)
"""For the other endpoints, of which the status alone counts."""
_HELLO: list[JsonValue] = [{"role": "user", "content": "Say hello."}]
_ENDPOINTS: Mapping[str, dict[str, JsonValue] | None] = {
    "/health": None,
    "/metrics": None,
    "/tokenize": {"prompt": "Say hello."},
    "/v1/completions": {"prompt": "Say hello.", "max_tokens": 4},
    "/v1/responses": {"input": "Say hello.", "max_output_tokens": 16},
    "/v1/messages": {"messages": _HELLO, "max_tokens": 4},
}


def gather(url: str, model: str, trials: list[Trial], progress: Progress) -> FeaturesRun:
    """Send all requests; of the model that the server lists first, unless one is named.

    Raises:
        Blocked: no server answers.
        UsageError: it has no model of that name.
    """
    server = asyncio.run(describe(ProbeSettings(url=url, model=model)))
    model, length = server["model"], server["max_model_len"]
    client = Client(url, _LIMITS)
    asked, answers = requests(length), dict[str, Answer]()
    usual: Body = {"model": model, "temperature": 0, "max_tokens": ROOM}
    for done, (name, body) in enumerate(asked.items()):
        progress.update(name, done=done, total=len(asked))
        if name == records.STOP:
            text = answers[records.HELLO].text
            body["stop"] = [text[len(text) // 2 :][:3].strip() or "."]
        answers[name] = read(client.chat(usual | body))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        replies = pool.map(lambda trial: read(client.chat(trial.body | {"model": model})), trials)
        answered = tuple(
            trial._replace(answer=reply) for trial, reply in zip(trials, replies, strict=True)
        )
    long, tried = (
        ask_long(lambda body: read(client.chat(usual | body)), length, progress)
        if length
        else ({}, 0)
    )
    aside = Client(url, ASIDE)
    named = {path: body and {"model": model, **body} for path, body in _ENDPOINTS.items()}
    return FeaturesRun(
        model=model,
        vllm=at(server["models"], model, "owned_by") == VLLM.serving.owner,
        header=server["header"],
        asked=asked,
        answers=answers | long,
        trials=answered,
        length=length,
        tried=tried,
        endpoints={path: aside.send(path, body).status for path, body in named.items()},
    )


def requests(length: int | None) -> dict[str, Body]:
    """The requests by name; some are sent again and streamed, and one with a stop from the answer to another."""
    found = json_text.load_as(REQUESTS.read_bytes(), dict[str, Body])
    for name in (records.THINKING, records.PLAIN):
        found[name]["max_tokens"] = min(ROOM_TO_THINK, length // 2) if length else ROOM
    often = (records.AUTO, records.BOTH, records.REQUIRED, records.SCHEMA, records.SEED)
    again = {name + AGAIN: found[name] for name in (*often, records.GREEDY, records.NARROW)}
    more = {"stream": True, "stream_options": {"include_usage": True}}
    streamed = {
        name + STREAMED: found[name] | more for name in (*often, records.THINKING, records.PLAIN)
    }
    return found | again | streamed | {records.STOP: {**found[records.HELLO]}}


def read_trials(path: Path, count: int | None) -> list[Trial]:
    """The requests of a file of JSON lines: bodies, or the results that the vendor verifier wrote about them.

    Raises:
        UsageError: it cannot be read, or a line is not a request.
    """
    found = [
        _trial(dict(row), msg("{path}, line {number}", path=path, number=number))
        for number, row in rows_of(path, read_text(path, MOST_BYTES))
    ]
    return list(islice(cycle(found), count or len(found)))


def _trial(found: Body, where: str) -> Trial:
    """A line, and whether the reference called a tool. The verifier's role `_input` stands for system."""
    body, finish = found.get("request", found), found.get("finish_reason")
    if not list_at(body, "messages"):
        raise UsageError(
            msg("{where} is not a request: {error}", where=where, error=msg("no messages"))
        )
    for message in list_at(body, "messages"):
        if isinstance(message, dict) and message.get("role") == "_input":
            message["role"] = "system"
    return Trial(body, finish == "tool_calls" if isinstance(finish, str) else None)
