"""How findings quote what a server said."""

from __future__ import annotations

from healthcheck.contract import CHAT_PATH, MODELS_PATH
from healthcheck.messages import msg
from healthcheck.redact import beginning
from healthcheck.wire.chat import Completion
from healthcheck.wire.client import Exchange

MODELS = f"GET {MODELS_PATH}"
DENIALS = frozenset({401, 403})
_MOST = 300
_READ = 8000


def shown(text: str, most: int = _MOST) -> str:
    """A text as a finding quotes it."""
    return repr(text if len(text) <= most else beginning(text, most) + " …")


def response_of(exchange: Exchange) -> str:
    """A response in a few words: its status and the beginning of its body, or the transport's error."""
    if not exchange.status:
        return msg("no response ({error})", exchange.error)
    body = beginning(exchange.body[:_READ].decode("utf-8", "replace").strip(), _MOST)
    words = (
        msg("status {status} {reason}", exchange.status, exchange.reason)
        if exchange.reason
        else msg("status {status}", exchange.status)
    )
    if exchange.error:
        words += msg(", then {error}", exchange.error)
    return msg("{words}: {body}", words, repr(body)) if body else words


def request_of(exchange: Exchange) -> str:
    """The request of an exchange, for the `where` of a finding."""
    sent = exchange.sent or {}
    fields = ", ".join(f"{key} {sent[key]}" for key in ("stream", "max_tokens", "temperature") if key in sent)
    return f"POST {CHAT_PATH}" + (f" ({fields})" if fields else "")


def flaws(completion: Completion) -> tuple[str, ...]:
    """The faults at which the evaluation client stops reading, or drops data."""
    return completion.faults + completion.swallowed
