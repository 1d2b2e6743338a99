"""What generation_config.json of the weights sets where a request does not: vLLM's `--generation-config auto`.

The weights are looked for on this machine only, and only for a server on it: at the path that it gives as the root
of its model.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from healthcheck import json_text
from healthcheck.errors import UsageError
from healthcheck.files import read_bounded
from healthcheck.json_text import JsonError
from healthcheck.probe.records import ProbeSettings
from healthcheck.probe.request import fields
from healthcheck.records import JsonValue
from healthcheck.wire.client import is_loopback

FILE = "generation_config.json"
_MAX_BYTES = 2**20
_TAKEN = (
    "repetition_penalty", "presence_penalty", "frequency_penalty", "temperature", "top_k", "top_p", "min_p",
    "max_new_tokens",
)  # fmt: skip
"""Source: vLLM 0.32.0, ModelConfig.get_diff_sampling_param."""
_SENT_AS = {"max_new_tokens": "max_tokens"}


def left_to_the_weights(settings: ProbeSettings, root: JsonValue) -> dict[str, JsonValue]:
    """The sampling parameters of the weights that requests leave open; empty if the weights are not here."""
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
