"""Deadlines that hold whatever a server does: a watcher thread shuts the socket down when one passes.

A socket's own time-out counts from the last byte, so a server that sends one byte a minute never triggers it.
Time in which this process got no processor does not count: bytes that came meanwhile still have to be read.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType

from healthcheck.text.messages import msg

_TICK_S = 0.25
_STALL_S = 0.5
"""A watcher that wakes later than this had no processor."""


class Guard:
    """Watches one exchange; a context manager. `reason` names the deadline that passed, "" if none did.

    Setting `stop` ends the exchange at once.
    """

    def __init__(
        self,
        *,
        first_event_s: float,
        between_events_s: float,
        total_s: float,
        stop: threading.Event,
    ) -> None:
        began = time.monotonic()
        self.reason = ""
        self._stop = stop
        self._between_events_s = between_events_s
        self._end = (began + total_s, msg("not finished after {total_s:g} s", total_s=total_s))
        self._next = (
            began + first_event_s,
            msg("no event within {first_event_s:g} s", first_event_s=first_event_s),
        )
        self._socket: socket.socket | None = None
        self._over = False
        self._changed = threading.Condition()
        self._watcher = threading.Thread(target=self._watch, name="deadline", daemon=True)

    def __enter__(self) -> Guard:  # noqa: PYI034 - typing.Self is not in Python 3.10
        self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._watcher.join()

    def hold(self, connected: socket.socket | None) -> None:
        with self._changed:
            self._socket = connected
            if self.reason:
                self._shut()

    def event(self) -> None:
        """Restart the time between events."""
        wait_s = self._between_events_s
        with self._changed:
            self._next = (
                time.monotonic() + wait_s,
                msg("no further event within {wait_s:g} s", wait_s=wait_s),
            )

    def _watch(self) -> None:
        with self._changed:
            while not self._over:
                deadline, reason = min(self._end, self._next)
                now = time.monotonic()
                if self._stop.is_set() or now >= deadline:
                    self.reason = msg("interrupted") if self._stop.is_set() else reason
                    self._shut()
                    return
                wake = min(deadline, now + _TICK_S)
                self._changed.wait(wake - now)
                self._forgive(time.monotonic() - wake)

    def _forgive(self, late_s: float) -> None:
        """Extend the deadlines by the time that this process did not run."""
        if late_s > _STALL_S:
            self._end, self._next = (
                (deadline + late_s, reason) for deadline, reason in (self._end, self._next)
            )

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
