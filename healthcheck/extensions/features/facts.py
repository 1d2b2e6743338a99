"""Asks a server for each feature once, and keeps the answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

from healthcheck.core.progress import Progress
from healthcheck.errors import Blocked, UsageError, reason_of
from healthcheck.extensions.features import records
from healthcheck.extensions.features.reading import read
from healthcheck.extensions.features.records import AGAIN, STREAMED, Answer, Body, FeaturesRun, Trial
from healthcheck.extensions.features.schema import list_at
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.wire.client import Client, Limits
from healthcheck.wire.models import model_cards

REQUESTS, TRIALS = (Path(__file__).with_name(name) for name in ("requests.json", "trials.jsonl"))
AT_ONCE, ROOM, _LONGEST_LINE = 8, 1024, 16 * 2**20
_LIMITS = Limits(first_event_s=600.0, between_events_s=120.0)


def gather(url: str, model: str, trials: list[Trial], progress: Progress) -> FeaturesRun:
    """Send all requests; of the model that the server lists first, unless one is named.

    Raises:
        Blocked: no server answers.
        UsageError: it has no model of that name.
    """
    client = Client(url, _LIMITS)
    listed = client.models()
    cards = {str(card["id"]): card for card in model_cards(listed.body)}
    if not cards:
        raise Blocked("no model list at {url}: {reason}", url, listed.error or msg("HTTP {status}", listed.status))
    model = model or next(iter(cards))
    if model not in cards:
        raise UsageError("the server has no model {model}, but {others}", repr(model), ", ".join(cards))
    asked, answers = requests(), dict[str, Answer]()
    usual: Body = {"model": model, "temperature": 0, "max_tokens": ROOM}
    for done, (name, body) in enumerate(asked.items()):
        progress.update(name, done=done, total=len(asked))
        if name == records.STOP:
            text = answers[records.HELLO].text
            body["stop"] = [text[len(text) // 2 :][:3].strip() or "."]
        answers[name] = read(client.chat(usual | body))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        replies = pool.map(lambda trial: read(client.chat(trial.body | {"model": model})), trials)
        answered = tuple(trial._replace(answer=reply) for trial, reply in zip(trials, replies, strict=True))
    vllm = cards[model].get("owned_by") == "vllm"
    return FeaturesRun(model=model, vllm=vllm, asked=asked, answers=answers, trials=answered)


def requests() -> dict[str, Body]:
    """The requests by name; some are sent again and streamed, and one with a stop from the answer to another."""
    found = json_text.load_as(REQUESTS.read_bytes(), dict[str, Body])
    often = (records.AUTO, records.REQUIRED, records.SCHEMA, records.SEED)
    again = {name + AGAIN: found[name] for name in often}
    more = {"stream": True, "stream_options": {"include_usage": True}}
    streamed = {name + STREAMED: found[name] | more for name in often}
    return found | again | streamed | {records.STOP: {**found[records.HELLO]}}


def read_trials(path: Path, count: int | None) -> list[Trial]:
    """The requests of a file of JSON lines: bodies, or the results that the vendor verifier wrote about them.

    Raises:
        UsageError: it cannot be read, or a line is not a request.
    """
    try:
        with path.open("rb") as file:
            lines = enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1)
            found = [
                _trial(line, msg("{path}, line {number}", path, number)) for number, line in lines if line.strip()
            ]
    except OSError as error:
        raise UsageError("cannot read {path}: {reason}", path, reason_of(error)) from error
    return list(islice(cycle(found), count or len(found)))


def _trial(line: bytes, where: str) -> Trial:
    """A line, and whether the reference called a tool. The verifier's role `_input` stands for system."""
    try:
        found = json_text.load_as(line, Body)
    except JsonError as error:
        raise UsageError("{where} is not a request: {error}", where, error) from error
    body, finish = found.get("request", found), found.get("finish_reason")
    if not list_at(body, "messages"):
        raise UsageError("{where} is not a request: {error}", where, msg("no messages"))
    for message in list_at(body, "messages"):
        if isinstance(message, dict) and message.get("role") == "_input":
            message["role"] = "system"
    return Trial(body, finish == "tool_calls" if isinstance(finish, str) else None)
