"""Single HTTP exchanges with a server, bounded in time, bytes and events. The only user of requests."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import requests
import urllib3

from healthcheck import contract
from healthcheck.core.records import JsonValue
from healthcheck.text.messages import msg
from healthcheck.wire.adapter import GuardedAdapter
from healthcheck.wire.answer import Reply
from healthcheck.wire.chat import Completion, Reader
from healthcheck.wire.guard import Guard
from healthcheck.wire.inflate import Inflater
from healthcheck.wire.request import headers as headers_of
from healthcheck.wire.request import server_of

_READ_BYTES = 2**16
_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one exchange: seconds to connect, to the first text, between events and in total; size."""

    connect_s: float = 5.0
    first_event_s: float = 120.0
    between_events_s: float = 60.0
    total_s: float = 600.0
    max_bytes: int = 64 * 2**20
    max_events: int = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange(Reply):
    """One request and its reply; `status` is 0 if no reply came.

    Attributes:
        body: the response's bytes, of a stream too, up to the limit.
        arrivals_s: seconds from the request to each arrival of bytes that completed at least one text event.
        error: the transport's error in words, "" if the exchange ended normally.
        sent: the body of the request, None if it had none or was not a JSON object.
        abandoned: the client closed the connection on purpose.
    """

    status: int = 0
    arrivals_s: tuple[float, ...] = ()
    error: str = ""
    seconds: float = 0.0
    sent: Mapping[str, JsonValue] | None = None
    abandoned: bool = False

    @property
    def folded(self) -> Completion:
        """The folded stream; an empty completion if there is none."""
        return self.completion or Completion()


class Client:
    """Client of one server. It follows no redirect, and uses no proxy for this host."""

    def __init__(
        self, base_url: str, limits: Limits | None = None, *, stop: threading.Event | None = None
    ) -> None:
        """`base_url` is the server's root; setting `stop` ends every exchange.

        Raises:
            ValueError: it is not a URL of a server.
        """
        server_of(base_url)
        self._base = base_url.rstrip("/")
        self._limits = limits or Limits()
        self._stop = stop or threading.Event()

    def models(self) -> Exchange:
        """GET /v1/models."""
        return self.send(contract.MODELS_PATH, None)

    def send(self, path: str, body: Mapping[str, JsonValue] | None) -> Exchange:
        """POST a body to any path, or GET that without one."""
        data = json.dumps(body).encode() if body else None
        return self._exchange("POST" if body else "GET", path, data, None)

    def chat(self, body: Mapping[str, JsonValue]) -> Exchange:
        """POST /v1/chat/completions; folds the answer if the body asks for a stream."""
        return self._exchange("POST", contract.CHAT_PATH, json.dumps(body).encode(), body)

    def chat_bytes(self, data: bytes) -> Exchange:
        """POST bytes that need not be JSON to /v1/chat/completions."""
        return self._exchange("POST", contract.CHAT_PATH, data, None)

    def abandon(self, body: Mapping[str, JsonValue], *, events: int = 1) -> Exchange:
        """POST /v1/chat/completions, and close the connection after some events with text."""
        return self._exchange(
            "POST", contract.CHAT_PATH, json.dumps(body).encode(), body, leave_after=events
        )

    def _exchange(
        self,
        method: str,
        path: str,
        data: bytes | None,
        sent: Mapping[str, JsonValue] | None,
        *,
        leave_after: int = 0,
    ) -> Exchange:
        if self._stop.is_set():
            return Exchange(error=msg("interrupted"), sent=sent)
        streamed, limits = bool(sent and sent.get("stream")), self._limits
        guard = Guard(
            first_event_s=limits.first_event_s if streamed else limits.total_s,
            between_events_s=limits.between_events_s,
            total_s=limits.total_s,
            stop=self._stop,
        )
        reading = _Reading(limits, guard, streamed=streamed, leave_after=leave_after)
        response, error = None, ""
        try:
            with guard, _Session() as session:
                session.trust_env = False
                session.headers.clear()
                session.mount("http://", GuardedAdapter(guard))
                session.mount("https://", GuardedAdapter(guard))
                with session.request(
                    method,
                    self._base + path,
                    data=data,
                    headers=headers_of(data or b""),
                    stream=True,
                    allow_redirects=False,
                    proxies=proxies_for(self._base),
                    timeout=(
                        limits.connect_s,
                        None,
                    ),  # the guard ends it: it knows when this process ran
                ) as response:
                    error = reading.read(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as broken:
            error = _words(broken)
        return reading.exchange(response, guard.reason or error, sent)


class _Session(requests.Session):
    """A session that ignores redirect addresses: requests parses them even if it must not follow them."""

    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002
        return None


class _Reading:
    """One response so far."""

    def __init__(self, limits: Limits, guard: Guard, *, streamed: bool, leave_after: int) -> None:
        self._limits = limits
        self._guard = guard
        self._streamed = streamed
        self._leave_after = leave_after
        self._began = time.monotonic()
        self._reader = Reader()
        self._held = bytearray()
        self._arrivals: list[float] = []
        self._text_events = 0
        self._left = False

    def read(self, response: requests.Response) -> str:
        """Read the body; returns the error in words, "" if it ended as it should."""
        folds = self._streamed and response.status_code == _OK
        take = self._take_stream if folds else self._take_plain
        try:
            inflater = Inflater(response.headers.get("content-encoding", ""))
            while data := response.raw.read1(_READ_BYTES, decode_content=False):
                for piece in inflater.feed(data):
                    if error := take(piece):
                        return error
                if self._left or self._reader.done:
                    return ""
        except (urllib3.exceptions.HTTPError, OSError) as broken:
            return _words(broken)
        return ""

    def _take_plain(self, piece: bytes) -> str:
        self._held += piece[: self._limits.max_bytes + 1 - len(self._held)]
        over = len(self._held) > self._limits.max_bytes
        return (
            msg("more than {max_bytes} bytes in one answer", max_bytes=self._limits.max_bytes)
            if over
            else ""
        )

    def _take_stream(self, piece: bytes) -> str:
        events = self._reader.events
        texts = self._reader.feed(piece)
        if texts:
            self._arrivals.append(time.monotonic() - self._began)
            self._text_events += texts
        if self._text_events and self._reader.events > events:
            self._guard.event()  # the role alone may come while the request is still queued
        if self._reader.events > self._limits.max_events:
            return msg(
                "more than {max_events} events in one answer", max_events=self._limits.max_events
            )
        self._left = 0 < self._leave_after <= self._text_events
        return self._take_plain(piece)

    def exchange(
        self, response: requests.Response | None, error: str, sent: Mapping[str, JsonValue] | None
    ) -> Exchange:
        status = response.status_code if response is not None else 0
        headers = (
            {}
            if response is None
            else {key.lower(): value for key, value in response.headers.items()}
        )
        return Exchange(
            status=status,
            reason=(response.reason or "") if response is not None else "",
            headers=headers,
            body=bytes(self._held[: self._limits.max_bytes]),
            completion=self._reader.close() if self._streamed and status == _OK else None,
            arrivals_s=tuple(self._arrivals),
            error=error,
            seconds=time.monotonic() - self._began,
            sent=sent,
            abandoned=self._left,
        )


def proxies_for(url: str) -> dict[str, str]:
    """The environment's proxies for this address; none for this host."""
    host = urlsplit(url).hostname or ""
    return {} if is_loopback(host) else dict(requests.utils.get_environ_proxies(url))


def is_loopback(host: str) -> bool:
    """Whether this is a name or address of this host."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _words(error: BaseException) -> str:
    """The innermost error in words: requests and urllib3 wrap errors several times."""
    inside = (getattr(error, "reason", None), *error.args)
    cause = next((each for each in inside if isinstance(each, BaseException)), None)
    return (
        _words(cause) if cause else msg("{name}: {error}", name=type(error).__name__, error=error)
    )
