"""What a server says of itself before the first sample: its models and its version."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from itertools import islice
from typing import Any

from healthcheck import json_text
from healthcheck.contract import MODELS_PATH
from healthcheck.errors import Blocked, UsageError
from healthcheck.json_text import JsonError
from healthcheck.probe.generation_config import left_to_the_weights
from healthcheck.probe.records import ProbeSettings
from healthcheck.probe.sampler import connections
from healthcheck.probe.secret_headers import hiding
from healthcheck.records import JsonValue
from healthcheck.redact import redacted
from healthcheck.wire.answer import Reply
from healthcheck.wire.many import Connections
from healthcheck.wire.response import TooLargeError

VERSION_PATH = "/version"
_MOST_MODELS = 20
_MOST_CHARACTERS = 200
_OF_A_MODEL = ("root", "owned_by", "max_model_len")


async def describe(settings: ProbeSettings) -> dict[str, Any]:
    """The first model that the server lists (or the one that was named), and what it says of its engine.

    model, max_model_len: of the model that is asked; the length is None if it is not given.
    header, version:      the Server header, and the answer to GET /version, "" if there is none.
    generation_config:    what the weights set and the requests leave open, where the weights are on this machine.
    models:               of each that is listed, by its id: root, owned_by, max_model_len where given.

    Raises:
        Blocked: no server answers, or it names no model, or it wants a key.
        UsageError: it has no model of the name that was given.
    """
    async with connections(settings) as server:
        try:
            reply = (await server.get(MODELS_PATH)).reply
        except (OSError, TooLargeError) as error:
            raise Blocked(f"no server answers at {settings.url} ({_reason(error)}): start it first") from error
        version = await _version(server, settings.patience.connect_s)
    _refuse_locked(reply, settings)
    listed = _models(reply.body) if reply.status == 200 else {}
    model = _chosen(listed, reply, settings)
    length = listed.get(model, {}).get("max_model_len")
    found: dict[str, JsonValue] = {
        "model": model,
        "max_model_len": length if isinstance(length, int) else None,
        "header": reply.headers.get("server", ""),
        "version": version,
        "models": {**dict(islice(listed.items(), _MOST_MODELS))},
    }
    found["generation_config"] = left_to_the_weights(settings, listed.get(model, {}).get("root"))
    shown = redacted(found, hiding(settings.request, os.environ))
    assert isinstance(shown, dict)
    return shown


def _chosen(listed: Mapping[str, object], reply: Reply, settings: ProbeSettings) -> str:
    if not listed and not settings.model:
        raise Blocked(
            f"{settings.url.rstrip('/')}{MODELS_PATH} lists no model (HTTP {reply.status}): name it with --model"
        )
    if settings.model and listed and settings.model not in listed:
        hide = hiding(settings.request, os.environ)
        names = hide(", ".join(map(repr, listed)))
        raise UsageError(f"the server has no model {settings.model!r}; it lists {names}")
    return settings.model or next(iter(listed))


def _refuse_locked(reply: Reply, settings: ProbeSettings) -> None:
    if reply.status not in {401, 403}:
        return
    if settings.request.api_key_env or settings.request.headers_env:
        raise Blocked(f"the server refuses the key that it was sent (HTTP {reply.status})")
    raise Blocked(
        f"the server wants a key (HTTP {reply.status}): put it into an environment variable, and name that with "
        "--set api_key_env=NAME"
    )


async def _version(server: Connections, wait_s: float) -> str:
    """The version of vLLM, and of servers that answer as it does; nobody waits long for it."""
    try:
        reply = (await asyncio.wait_for(server.get(VERSION_PATH), wait_s)).reply
        answer = json_text.load(reply.body) if reply.status == 200 else None
    except (OSError, asyncio.TimeoutError, TooLargeError, JsonError):
        return ""
    version = answer.get("version") if isinstance(answer, dict) else None
    return version[:_MOST_CHARACTERS] if isinstance(version, str) else ""


def _models(body: bytes) -> dict[str, dict[str, JsonValue]]:
    """The models that are listed, in their order, of each what a report keeps."""
    try:
        answer = json_text.load(body)
    except JsonError:
        return {}
    data = answer.get("data") if isinstance(answer, dict) else None
    listed = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    return {
        str(entry.get("id")): {
            name: value for name in _OF_A_MODEL if isinstance(value := entry.get(name), (str, int))
        }
        for entry in listed
    }


def _reason(error: Exception) -> str:
    """The system's words, such as "Connection refused", rather than asyncio's account of its attempts."""
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError) or (error.errno or 0) <= 0:
        return str(error)
    return os.strerror(error.errno or 0)
