"""Describes a server before the first sample: its models and version, and the sampling defaults of its weights."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from healthcheck.contract import MODELS_PATH
from healthcheck.core.records import JsonValue
from healthcheck.errors import Blocked, UsageError
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.run.request import fields
from healthcheck.stages.probe.run.sampler import connections
from healthcheck.stages.probe.run.secret_headers import hiding
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import joined, msg
from healthcheck.text.redact import redacted
from healthcheck.wire.answer import Reply
from healthcheck.wire.client import is_loopback
from healthcheck.wire.models import model_cards, version_of
from healthcheck.wire.response import TooLargeError

_MOST_MODELS = 20
_OF_A_MODEL = ("root", "owned_by", "max_model_len")
_IDENTITY = ("version", "header", *_OF_A_MODEL)
FILE = "generation_config.json"
_MAX_BYTES = 2**20
_TAKEN = (
    "repetition_penalty", "presence_penalty", "frequency_penalty", "temperature", "top_k", "top_p", "min_p",
    "max_new_tokens",
)  # fmt: skip
"""Source: vLLM 0.32.0, ModelConfig.get_diff_sampling_param."""
_SENT_AS = {"max_new_tokens": "max_tokens"}


async def describe_all(settings: ProbeSettings) -> dict[str, Any]:
    """The description of the first server; if there are several, `replicas` has that of each, by its root.

    The context length is then the shortest.

    Raises:
        Blocked: a server does not answer, names no model, or requires a key.
        UsageError: a server does not have the model.
    """
    first = await describe(settings)
    if not settings.replicas:
        return first
    same = replace(settings, model=settings.model or str(first["model"]))
    others = await asyncio.gather(*(describe(replace(same, url=url)) for url in settings.replicas))
    each = dict(zip(settings.servers, (first, *others), strict=True))
    lengths = [found["max_model_len"] for found in each.values() if found["max_model_len"]]
    return {
        **first,
        "max_model_len": min(lengths, default=None),
        "replicas": {url: _identity(found, same.model) for url, found in each.items()},
    }


def differences(server: Mapping[str, Any]) -> tuple[str, ...]:
    """The differences between the servers of a run, one sentence each; empty for one server."""
    found = []
    for name in _IDENTITY:
        said: dict[str, list[str]] = {}
        for url, replica in server.get("replicas", {}).items():
            said.setdefault(str(replica[name] or msg("not said")), []).append(url)
        if len(said) > 1:
            told = joined("; ", (msg("{value} at {urls}", value, ", ".join(urls)) for value, urls in said.items()))
            found.append(msg("{replace}: {told}", name.replace("_", " "), told))
    return tuple(found)


def _identity(found: Mapping[str, Any], model: str) -> dict[str, JsonValue]:
    """The properties that servers of one deployment share."""
    listed = found["models"].get(model, {})
    return {name: listed.get(name) if name in _OF_A_MODEL else found[name] for name in _IDENTITY}


async def describe(settings: ProbeSettings) -> dict[str, Any]:
    """The first model that the server lists (or the named one), and properties of its engine.

    model, max_model_len: of the model in use; the length is None if it is not given.
    header, version:      the Server header, and the answer to GET /version, "" if there is none.
    generation_config:    parameters that the weights set and the requests do not, if they are here.
    models:               of each listed model, by its id: root, owned_by, max_model_len if given.

    Raises:
        Blocked: no server answers, or it names no model, or it requires a key.
        UsageError: it has no model of the given name.
    """
    async with connections(settings) as server:
        try:
            reply = (await server.get(MODELS_PATH)).reply
        except (OSError, TooLargeError) as error:
            told = (settings.url, _reason(error))
            raise Blocked("no server answers at {url} ({reason}): start it first", *told) from error
        version = await version_of(server, settings.patience.connect_s)
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
    found["generation_config"] = _left_to_the_weights(settings, listed.get(model, {}).get("root"))
    shown = redacted(found, hiding(settings.request, os.environ))
    assert isinstance(shown, dict)
    return shown


def _left_to_the_weights(settings: ProbeSettings, root: JsonValue) -> dict[str, JsonValue]:
    """The sampling parameters of the weights that requests leave open: vLLM's `--generation-config auto`.

    The weights are only looked up for a server on this machine, at the path that it gives as the root of its model.
    """
    here = is_loopback(urlsplit(settings.url).hostname or "")
    if not here or not isinstance(root, str) or not root.startswith("/"):
        return {}
    try:
        found = json_text.load(read_bounded(Path(root) / FILE, _MAX_BYTES))
    except (UsageError, JsonError, OSError, ValueError):
        return {}
    sent = {"temperature", "max_tokens", *fields(settings.request, 0)}
    if not isinstance(found, dict):
        return {}
    return {
        name: value
        for name in _TAKEN
        if isinstance(value := found.get(name), (int, float)) and _SENT_AS.get(name, name) not in sent
    }


def _chosen(listed: Mapping[str, object], reply: Reply, settings: ProbeSettings) -> str:
    if not listed and not settings.model:
        told = (settings.url.rstrip("/"), MODELS_PATH, reply.status)
        raise Blocked("{rstrip}{models_path} lists no model (HTTP {status}): name it with --model", *told)
    if settings.model and listed and settings.model not in listed:
        hide = hiding(settings.request, os.environ)
        names = hide(", ".join(map(repr, listed)))
        where = msg(" at {url}", settings.url) if settings.replicas else ""
        said = (where, repr(settings.model), names)
        raise UsageError("the server{where} has no model {model}; it lists {names}", *said)
    return settings.model or next(iter(listed))


def _refuse_locked(reply: Reply, settings: ProbeSettings) -> None:
    if reply.status not in {401, 403}:
        return
    if settings.request.api_key_env or settings.request.headers_env:
        raise Blocked("the server refuses the key that it was sent (HTTP {status})", reply.status)
    raise Blocked(
        "the server wants a key (HTTP {status}): put it into an environment variable, and name that "
        "with --set api_key_env=NAME",
        reply.status,
    )


def _models(body: bytes) -> dict[str, dict[str, JsonValue]]:
    """The listed models in order, each with the fields for the report."""
    return {
        str(card["id"]): {name: value for name in _OF_A_MODEL if isinstance(value := card.get(name), (str, int))}
        for card in model_cards(body)
    }


def _reason(error: Exception) -> str:
    """The system's words, such as "Connection refused", instead of asyncio's account of its attempts."""
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError) or (error.errno or 0) <= 0:
        return str(error)
    return os.strerror(error.errno or 0)
