"""What a server reports about itself: its model list and its version."""

from __future__ import annotations

import asyncio

from healthcheck.core.records import JsonValue
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.wire.many import Connections
from healthcheck.wire.response import TooLargeError

_VERSION_PATH = "/version"
_MOST_CHARACTERS = 200


def model_cards(body: bytes) -> tuple[dict[str, JsonValue], ...]:
    """The entries of a model list that have an id, in order."""
    try:
        found = json_text.load_as(body, dict[str, object]).get("data")
    except JsonError:
        return ()
    cards = found if isinstance(found, list) else []
    return tuple(
        card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str)
    )


async def version_of(server: Connections, wait_s: float) -> str:
    """The version that vLLM and compatible servers report; "" if there is none within `wait_s`."""
    try:
        reply = (await asyncio.wait_for(server.get(_VERSION_PATH), wait_s)).reply
        answer = json_text.load_as(reply.body, dict[str, object]) if reply.status == 200 else {}
    except (OSError, asyncio.TimeoutError, TooLargeError, JsonError):
        return ""
    version = answer.get("version")
    return version[:_MOST_CHARACTERS] if isinstance(version, str) else ""
