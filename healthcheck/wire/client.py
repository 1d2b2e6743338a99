"""Single exchanges with a server over HTTP, bounded in time, bytes and events. The one user of requests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import requests
import urllib3

from healthcheck.contract import CHAT_PATH, MODELS_PATH
from healthcheck.records import JsonValue
from healthcheck.wire.chat import Completion, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one exchange: seconds to the first event, between events and in total; bytes of the body."""

    connect_s: float = 5.0
    first_event_s: float = 120.0
    between_events_s: float = 60.0
    total_s: float = 600.0
    max_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what came back.

    Attributes:
        status: the HTTP status, 0 where no response came.
        body: the response's bytes, of a stream too, up to the limit.
        completion: the folded stream, None for a plain response.
        arrivals_s: seconds from the request to each arrival of bytes that completed at least one text event.
        error: the transport's error in words, "" where the exchange ended as it should.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    completion: Completion | None = None
    arrivals_s: tuple[float, ...] = ()
    error: str = ""
    seconds: float = 0.0


class Client:
    """Talks to one server. It follows no redirect and uses no proxy: the service reaches port 8000 directly."""

    def __init__(self, base_url: str, limits: Limits | None = None) -> None:
        self._base = base_url.rstrip("/")
        self._limits = limits or Limits()

    def models(self) -> Exchange:
        """GET /v1/models."""
        return self._exchange("GET", MODELS_PATH, None)

    def chat(self, body: Mapping[str, JsonValue]) -> Exchange:
        """POST /v1/chat/completions; folds the answer where it is an event stream."""
        return self._exchange("POST", CHAT_PATH, body)

    def _exchange(self, method: str, path: str, body: Mapping[str, JsonValue] | None) -> Exchange:
        began = time.monotonic()
        wait = self._limits.first_event_s if body and body.get("stream") else self._limits.total_s
        session = requests.Session()
        session.trust_env = False
        try:
            with (
                session,
                session.request(
                    method,
                    self._base + path,
                    json=body,
                    stream=True,
                    allow_redirects=False,
                    timeout=(self._limits.connect_s, wait),
                ) as response,
            ):
                return self._read(response, began)
        except requests.RequestException as error:
            return Exchange(error=f"{type(error).__name__}: {error}", seconds=time.monotonic() - began)

    def _read(self, response: requests.Response, began: float) -> Exchange:
        streamed = "text/event-stream" in response.headers.get("content-type", "")
        reader, held, arrivals, error = Reader(), bytearray(), [], ""
        while not error:
            try:
                data = response.raw.read1(2**16, decode_content=True)
            except (urllib3.exceptions.HTTPError, OSError) as broken:
                error = f"{type(broken).__name__}: {broken}"
                break
            now = time.monotonic() - began
            if not data:
                break
            held += data
            if streamed and reader.feed(data):
                arrivals.append(now)
            if len(held) > self._limits.max_bytes:
                error = f"more than {self._limits.max_bytes} bytes in one answer"
            elif now > self._limits.total_s:
                error = f"not finished after {self._limits.total_s:g} s"
        return Exchange(
            status=response.status_code,
            headers={key.lower(): value for key, value in response.headers.items()},
            body=bytes(held[: self._limits.max_bytes]),
            completion=reader.close() if streamed else None,
            arrivals_s=tuple(arrivals),
            error=error,
            seconds=time.monotonic() - began,
        )
