"""Adapts requests and urllib3: a guard gets the socket, and httptools parses the response.

http.client accepts what aiohttp, under the evaluation client, refuses: a header without a colon, a length as well
as chunks. It also takes 103 Early Hints for the response.
"""

from __future__ import annotations

import io
import socket
from typing import TypeVar

from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from healthcheck.wire.guard import Guard
from healthcheck.wire.response import Response, TooLargeError

_READ_BYTES = 2**16
Kind = TypeVar("Kind", bound=HTTPConnection)


class GuardedAdapter(HTTPAdapter):
    """Connections that hand their socket to a guard once they are connected."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = _guarded(HTTPConnection, guard)

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = _guarded(HTTPSConnection, guard)

        self._pools = {"http": PlainPool, "https": SecurePool}
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, proxy: str, **more: object) -> ProxyManager:
        """Let connections to a proxy hand over their socket too."""
        manager: ProxyManager = super().proxy_manager_for(proxy, **more)
        manager.pool_classes_by_scheme = self._pools
        return manager


def _guarded(kind: type[Kind], guard: Guard) -> type[Kind]:
    """A subclass whose connections hand their socket to the guard and read the response with httptools."""

    class Guarded(kind):  # type: ignore[misc, valid-type]  # a class by the name of a variable
        def connect(self) -> None:
            super().connect()
            guard.hold(self.sock)

        def getresponse(self) -> HTTPResponse:
            return _response(self.sock)

    Guarded.__name__ = kind.__name__  # urllib3 quotes it in errors
    return Guarded


def _response(connection: socket.socket) -> HTTPResponse:
    """Read a response from a connection, up to the end of its head.

    Raises:
        ConnectionError: the bytes are not an HTTP response.
    """
    connection.settimeout(None)  # the guard ends it: it knows when this process ran
    body = _Body(connection)
    response = body.begin()
    return HTTPResponse(
        body=body,
        headers=response.headers,
        status=response.status,
        reason=response.reason,
        preload_content=False,
        decode_content=False,
        enforce_content_length=False,
    )


class _Body(io.RawIOBase):
    """The body of a response as its bytes arrive."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._response = connection, Response()
        self._broken: ConnectionError | None = None

    def begin(self) -> Response:
        """Read up to the end of the head, with any of the body that arrived with it.

        Raises:
            ConnectionError: the bytes are not an HTTP response.
        """
        while not self._response.status:
            self._receive()
            if self._broken and not self._response.status:
                raise self._broken
        return self._response

    def read1(self, _size: int = -1) -> bytes:
        """The bytes since the last call; waits until there are some. b"" at the end.

        Raises:
            ConnectionError: the response breaks off here.
        """
        while not (data := self._response.take()) and not self._response.ended:
            if self._broken:
                raise self._broken
            self._receive()
        return data

    def _receive(self) -> None:
        try:
            if data := self._connection.recv(_READ_BYTES):
                self._response.feed(data)
            else:
                self._response.close()
        except (OSError, TooLargeError) as error:
            self._broken = (
                error if isinstance(error, ConnectionError) else ConnectionError(str(error))
            )
