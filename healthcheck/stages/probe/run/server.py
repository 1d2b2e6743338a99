"""Describes a server before the first sample: its models and version, and the sampling defaults of its weights."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
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
from healthcheck.text.messages import msg
from healthcheck.text.redact import redacted
from healthcheck.wire.answer import Reply
from healthcheck.wire.client import is_loopback
from healthcheck.wire.models import model_cards, version_of
from healthcheck.wire.response import TooLargeError

_MOST_MODELS = 20
_OF_A_MODEL = ("root", "owned_by", "max_model_len")
FILE = "generation_config.json"
_MAX_BYTES = 2**20
_TAKEN = (
    "repetition_penalty", "presence_penalty", "frequency_penalty", "temperature", "top_k", "top_p", "min_p",
    "max_new_tokens",
)  # fmt: skip
"""Source: vLLM 0.32.0, ModelConfig.get_diff_sampling_param."""
_SENT_AS = {"max_new_tokens": "max_tokens"}


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
            raise Blocked(
                msg(
                    "no server answers at {url} ({reason}): start it first",
                    url=settings.url,
                    reason=_reason(error),
                )
            ) from error
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
        if isinstance(value := found.get(name), (int, float))
        and _SENT_AS.get(name, name) not in sent
    }


def _chosen(listed: Mapping[str, object], reply: Reply, settings: ProbeSettings) -> str:
    if not listed and not settings.model:
        raise Blocked(
            msg(
                "{text}{models_path} lists no model (HTTP {status}): name it with --model",
                text=settings.url.rstrip("/"),
                models_path=MODELS_PATH,
                status=reply.status,
            )
        )
    if settings.model and listed and settings.model not in listed:
        hide = hiding(settings.request, os.environ)
        names = hide(", ".join(map(repr, listed)))
        raise UsageError(
            msg(
                "the server has no model {model}; it lists {names}",
                model=repr(settings.model),
                names=names,
            )
        )
    return settings.model or next(iter(listed))


def _refuse_locked(reply: Reply, settings: ProbeSettings) -> None:
    if reply.status not in {401, 403}:
        return
    if settings.request.api_key_env or settings.request.headers_env:
        raise Blocked(
            msg("the server refuses the key that it was sent (HTTP {status})", status=reply.status)
        )
    raise Blocked(
        msg(
            "the server wants a key (HTTP {status}): put it into an environment variable, and name that "
            "with --set api_key_env=NAME",
            status=reply.status,
        )
    )


def _models(body: bytes) -> dict[str, dict[str, JsonValue]]:
    """The listed models in order, each with the fields for the report."""
    return {
        str(card["id"]): {
            name: value for name in _OF_A_MODEL if isinstance(value := card.get(name), (str, int))
        }
        for card in model_cards(body)
    }


def _reason(error: Exception) -> str:
    """The system's words, such as "Connection refused", instead of asyncio's account of its attempts."""
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError) or (error.errno or 0) <= 0:
        return str(error)
    return os.strerror(error.errno or 0)
