"""Many exchanges at a time in one thread: asyncio connections, reused where that is safe.

No proxy, no redirect: the service reaches the port directly. Bytes are folded in batches; `healthcheck.wire.client`
records when each event arrived.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from healthcheck.text.messages import msg
from healthcheck.wire.answer import Answer, Reply
from healthcheck.wire.chat import Reader
from healthcheck.wire.request import headers as headers_of
from healthcheck.wire.request import server_of
from healthcheck.wire.response import TooLargeError

_IDLE_S = 2.0
"""A connection that was idle for longer is not reused: uvicorn, and so vLLM, closes it after 5 s."""
_AFTER_DONE_S = 2.0
"""Wait for the end of a response whose text is complete, so that the connection can be reused."""
_CLOSING_S = 1.0
_OPENING_BYTES = 1024
"""A queued answer may send this much: the event that names the role, or comments."""
_SAFE = "/%:@!$&'()*+,;=-._~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds to connect, between arrivals of bytes, and from an answer's first byte to its end.

    Before its first text an answer may be queued, so until then `silence_s` is the silence of all connections to
    the server: a long queue that moves is not silent.
    """

    connect_s: float
    silence_s: float
    answer_s: float


@dataclass(slots=True)
class _Pulse:
    """When the last byte arrived, over any connection to the server."""

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A reply, with the seconds from the request to the first byte of its body (0: no body) and to its end."""

    reply: Reply
    first_s: float
    seconds: float


class Connections:
    """Connections to one server, opened on demand; `contextlib.aclosing` closes them."""

    def __init__(self, url: str, waits: Waits, headers: Mapping[str, str] | None = None) -> None:
        """`url` is the server's root; `headers` are added to each request: ASCII without line ends.

        Raises:
            ValueError: it is not a URL of a server.
        """
        self._server = server_of(url)
        self._tls = ssl.create_default_context() if self._server.tls else None
        self._waits = waits
        self._headers = {**(headers or {})}
        self._pulse = _Pulse(time.monotonic())
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()

    async def aclose(self) -> None:
        """Drop all connections, with any exchange in progress."""
        closed = [connection.closed for connection in self._open]
        for connection in self._open:
            connection.drop()
        if closed:
            await asyncio.wait(closed, timeout=_CLOSING_S)

    async def get(self, path: str) -> Timed:
        """GET a short answer.

        Raises:
            TimeoutError: the answer did not end in time.
            OSError: no connection, a broken one, or a reply that is not HTTP.
            TooLargeError: the answer exceeds the limit.
        """
        return await self._exchange(Answer(), self._request("GET", path))

    async def post(self, path: str, body: bytes) -> Timed:
        """POST JSON; the answer is not a stream.

        Raises:
            TimeoutError: the answer did not end in time.
            OSError: no connection, a broken one, or a reply that is not HTTP.
            TooLargeError: the answer exceeds the limit.
        """
        return await self._exchange(Answer(), self._request("POST", path, body))

    async def stream(self, path: str, body: bytes) -> Timed:
        """POST JSON and fold the streamed answer.

        Raises:
            TimeoutError: the answer did not end in time.
            OSError: no connection, a broken one, or a reply that is not HTTP.
            TooLargeError: the answer exceeds the limit.
        """
        return await self._exchange(Answer(Reader()), self._request("POST", path, body))

    def _request(self, method: str, path: str, body: bytes = b"") -> bytes:
        target = quote(self._server.path + path, safe=_SAFE)
        length = {"content-length": str(len(body))} if body else {}
        sent = {"host": self._server.name} | headers_of(body) | self._headers | length
        lines = (
            f"{method} {target} HTTP/1.1",
            *(f"{name}: {value}" for name, value in sent.items()),
        )
        return "".join(f"{line}\r\n" for line in (*lines, "")).encode() + body

    async def _exchange(self, answer: Answer, request: bytes) -> Timed:
        idle = self._idle_one()
        if idle:
            try:
                return await self._ask(idle, answer, request)
            except ConnectionError:
                # The server may have closed the idle connection before it saw the request: RFC 9112, section 9.3.1.
                if idle.answered:
                    raise
        return await self._ask(await self._connect(), answer, request)

    async def _ask(self, connection: _Connection, answer: Answer, request: bytes) -> Timed:
        try:
            return await connection.ask(answer, request, self._waits, self._pulse)
        finally:
            if answer.reusable and connection.usable:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
            else:
                connection.drop()

    def _idle_one(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and time.monotonic() - connection.idle_since < _IDLE_S:
                return connection
            connection.drop()
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        host, port = self._server.host, self._server.port
        connecting = loop.create_connection(
            lambda: _Connection(self._open), host, port, ssl=self._tls
        )
        opening = loop.create_task(connecting)
        try:  # up to Python 3.11, asyncio.wait_for loses a cancellation at the moment of success
            await asyncio.wait({opening}, timeout=self._waits.connect_s)
            if not opening.done():
                raise TimeoutError(
                    msg("no connection within {connect_s:g} s", connect_s=self._waits.connect_s)
                )
            return opening.result()[1]
        finally:
            opening.cancel()
            await asyncio.wait({opening})
            _ = opening.cancelled() or opening.exception()  # or asyncio logs it as never retrieved


class _Connection(asyncio.Protocol):
    """One connection with at most one request in progress; it is in `siblings` while it is open."""

    def __init__(self, siblings: set[_Connection]) -> None:
        self.idle_since = 0.0
        self.answered = False
        """Whether a byte arrived since the last request."""
        self.closed = asyncio.get_running_loop().create_future()
        self._siblings = siblings
        self._transport: asyncio.Transport | None = None
        self._pending: _Pending | None = None

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, answer: Answer, request: bytes, waits: Waits, pulse: _Pulse) -> Timed:
        """Send a request, and wait for the end of its answer."""
        if not self._transport:
            raise ConnectionError(msg("the server closed the connection before it was asked"))
        self._pending, self.answered = _Pending(answer, waits, pulse), False
        self._transport.write(request)
        try:
            return await self._pending.whole()
        finally:
            self._pending = None

    def drop(self) -> None:
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._siblings.add(self)

    def data_received(self, data: bytes) -> None:
        self.answered = True
        if self._pending:
            self._pending.take(data)
        else:
            self.drop()  # there was no request

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._siblings.discard(self)
        self.closed.set_result(None)
        if self._pending:
            self._pending.lost(exc)


class _Pending:
    """An answer in progress. Its times are those of time.monotonic()."""

    def __init__(self, answer: Answer, waits: Waits, pulse: _Pulse) -> None:
        self._answer = answer
        self._waits = waits
        self._pulse = pulse
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[None] = self._loop.create_future()
        self._began = self._heard = time.monotonic()
        self._first = 0.0
        self._timer = self._loop.call_later(min(waits.silence_s, waits.answer_s), self._look)

    async def whole(self) -> Timed:
        try:
            await self._end
        finally:
            self._timer.cancel()
        first = self._first - self._began if self._first else 0.0
        return Timed(
            reply=self._answer.reply(), first_s=first, seconds=time.monotonic() - self._began
        )

    def take(self, data: bytes) -> None:
        if self._end.done():
            self._answer.reusable = False
            return
        self._heard = self._pulse.at = time.monotonic()
        was_done = self._answer.done
        try:
            self._answer.feed(data)
        except (OSError, TooLargeError) as error:
            self._end.set_exception(error)
            return
        if not self._first and self._answer.begun:
            self._first = self._heard
        if self._answer.ended:
            self._end.set_result(None)
        elif self._answer.done and not was_done:
            self._timer.cancel()
            self._timer = self._loop.call_later(_AFTER_DONE_S, self._look)

    def lost(self, error: Exception | None) -> None:
        if self._end.done():
            return
        try:
            self._answer.close()
        except (OSError, TooLargeError) as broken:
            self._end.set_exception(error or broken)
        else:
            self._finish(None if self._answer.done else error)

    def _look(self) -> None:
        """End the answer if it takes too long; otherwise schedule the next look."""
        if self._end.done():
            return
        now, waits = time.monotonic(), self._waits
        waiting = self._answer.received_bytes < _OPENING_BYTES
        silent = max(self._heard, self._pulse.at if waiting else 0.0) + waits.silence_s
        late = (self._first or now) + waits.answer_s
        if not self._answer.done and now < min(silent, late):
            self._timer = self._loop.call_later(min(silent, late) - now, self._look)
            return
        late_or_silent = TimeoutError(
            msg("nothing came for {silence_s:g} s", silence_s=waits.silence_s)
        )
        if now >= late:
            late_or_silent = TimeoutError(
                msg("no end after {answer_s:g} s", answer_s=waits.answer_s)
            )
        try:
            self._finish(None if self._answer.settle() else late_or_silent)
        except (OSError, TooLargeError) as error:
            self._finish(error)

    def _finish(self, error: Exception | None) -> None:
        if error:
            self._end.set_exception(error)
        else:
            self._end.set_result(None)
