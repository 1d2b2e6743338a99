"""Decides whether the server is ready. Only a correct streamed completion counts: model lists answer earlier."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from pathlib import Path

from healthcheck import contract
from healthcheck.contract import MODELS_PATH
from healthcheck.stages.service.records import Answer
from healthcheck.system.processes import Listener, shortened
from healthcheck.text.messages import msg
from healthcheck.text.redact import beginning
from healthcheck.wire.chat import request_body, user
from healthcheck.wire.client import Client, Exchange, Limits
from healthcheck.wire.models import model_cards

QUESTION = "Say hello."
LIST_S = 30.0
FIRST_EVENT_S = 900.0
"""The first answer may compile kernels for minutes; the deadline of the launch still applies."""
LOADING = frozenset({0, 425, 429, 502, 503, 504})
"""Responses of a server that is still starting; other refusals become final after a while."""
_EVERYWHERE = frozenset({"0.0.0.0", "::", "::ffff:0.0.0.0"})  # noqa: S104


def base_url(listeners: tuple[Listener, ...], port: int) -> str:
    """The URL of the server from this machine: loopback if the server listens there, else its own address."""
    addresses = [listener.address for listener in listeners]
    version_4 = [
        address for address in addresses if address.removeprefix("::ffff:").startswith("127.")
    ]
    if not addresses or version_4 or (_EVERYWHERE & set(addresses) and _accepts("127.0.0.1", port)):
        return f"http://127.0.0.1:{port}"
    address = "::1" if {"::", "::1"} & set(addresses) else addresses[0]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt: whether the server is ready, the model name that was sent, and the answer if it is not.

    `listed`: whether the server listed this name; a gateway without a backend lists none yet.
    """

    ready: bool
    model: str
    answer: Answer
    listed: bool


def model_list(url: str) -> Exchange:
    """Request the model list, which a working server sends immediately."""
    return Client(url, Limits(total_s=LIST_S)).models()


def attempt(url: str, weights: Path, listed: Exchange) -> Attempt:
    """Send one short streamed chat as the evaluation client does, with a name from the server's model list."""
    named = next((str(card["id"]) for card in model_cards(listed.body)), "")
    model = named or contract.service().requested(str(weights))
    limits = Limits(first_event_s=FIRST_EVENT_S, between_events_s=300, total_s=FIRST_EVENT_S + 300)
    body = request_body([user(QUESTION)], model=model, max_tokens=16, temperature=0.01)
    chat = Client(url, limits).chat(body)
    if chat.status == 0 and listed.status:
        answer = Answer(
            status=0,
            text=msg(
                "{error}; GET {models_path}: {status}",
                error=chat.error,
                models_path=MODELS_PATH,
                status=listed.status,
            ),
        )
    else:
        answer = Answer(status=chat.status, text=_words(chat))
    return Attempt(ready=is_answer(chat), model=model, answer=answer, listed=bool(named))


def speaks_http(listeners: tuple[Listener, ...], port: int) -> bool:
    """Whether a server on the port answers a request for the model list with any HTTP response."""
    there = tuple(listener for listener in listeners if listener.port == port)
    return Client(base_url(there, port), Limits(connect_s=10, total_s=10)).models().status != 0


def is_answer(chat: Exchange) -> bool:
    """Whether a working model streamed the response; the endpoint stage looks for finer faults."""
    if chat.status != 200 or chat.error or chat.folded.error:
        return False
    return bool(chat.folded.deltas or chat.folded.finish_reason)


class Attempts:
    """Attempts in the background, one at a time, so that a server that hangs does not hide that it has died."""

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self._thread: threading.Thread | None = None
        self._listed: Exchange | None = None
        self._result: Attempt | None = None

    def begin(self, url: str) -> None:
        """Start an attempt unless one is under way."""
        if self._thread is None:
            self._listed = None
            self._thread = threading.Thread(target=self._run, args=(url,), daemon=True)
            self._thread.start()

    @property
    def under_way(self) -> bool:
        return self._thread is not None

    def heard(self) -> str:
        """The server's response so far to the current attempt, in words."""
        listed = self._listed
        if listed is None or not listed.status:
            return msg(
                "nothing at all comes, to GET {models_path} neither", models_path=MODELS_PATH
            )
        return msg(
            "GET {models_path} was answered with HTTP {status}, and to the chat nothing comes",
            models_path=MODELS_PATH,
            status=listed.status,
        )

    def take(self) -> Attempt | None:
        """The result of the attempt, or None while it runs."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread, result, self._result = None, self._result, None
        return result

    def _run(self, url: str) -> None:
        self._listed = listed = model_list(url)
        self._result = attempt(url, self._weights, listed)


def _accepts(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=2):
            return True
    except OSError:
        return False


def _words(chat: Exchange) -> str:
    if chat.status == 0:
        return shortened(chat.error, 300)
    kind = chat.headers.get("content-type", "") or msg("no content type")
    if chat.completion is None or "event-stream" not in kind:
        return msg("{kind}: {begins}", kind=kind, begins=_begins(chat, 500))
    if chat.folded.error:
        return msg("an error inside the stream: {error}", error=beginning(chat.folded.error, 400))
    if chat.error:
        return msg("a stream that broke off: {error}", error=shortened(chat.error, 300))
    return msg("a stream without an answer: {chat}", chat=repr(_begins(chat, 400)))


def _begins(chat: Exchange, limit: int) -> str:
    text = " ".join(chat.body[:8000].decode("utf-8", "replace").split())
    return shortened(beginning(text, limit + 1), limit)
