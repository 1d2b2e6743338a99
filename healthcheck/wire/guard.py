"""Deadlines that hold whatever a server does: a watcher shuts the socket when one passes.

A socket's own time-out counts from the last byte, so a server that sends one byte a minute never meets it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


class Guard:
    """Watches one exchange; a context manager. `reason` says which deadline passed, "" where none did."""

    def __init__(self, *, first_event_s: float, between_events_s: float, total_s: float) -> None:
        began = time.monotonic()
        self.reason = ""
        self._between_events_s = between_events_s
        self._end = (began + total_s, f"not finished after {total_s:g} s")
        self._next = (began + first_event_s, f"no event within {first_event_s:g} s")
        self._socket: socket.socket | None = None
        self._over = False
        self._changed = threading.Condition()
        self._watcher = threading.Thread(target=self._watch, name="deadline", daemon=True)

    def __enter__(self) -> Guard:  # noqa: PYI034 - typing.Self is not in Python 3.10
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._watcher.join()

    def hold(self, connected: socket.socket | None) -> None:
        """Take the socket of the exchange."""
        with self._changed:
            self._socket = connected
            if self.reason:
                self._shut()

    def event(self) -> None:
        """An event came: the time to the next one counts from now."""
        wait_s = self._between_events_s
        with self._changed:
            earlier = time.monotonic() + wait_s < self._next[0]
            self._next = (time.monotonic() + wait_s, f"no further event within {wait_s:g} s")
            if earlier:
                self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._over:
                deadline, reason = min(self._end, self._next)
                left = deadline - time.monotonic()
                if left <= 0:
                    self.reason = reason
                    self._shut()
                    return
                self._changed.wait(left)

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class GuardedAdapter(HTTPAdapter):
    """Connections that hand their socket to a guard as soon as they have one."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()

        class Plain(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                guard.hold(self.sock)

        class Secure(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                guard.hold(self.sock)

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
