"""Repeats an action while a run waits: a log shows that it goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

BEAT_S = 30.0


class Heart:
    """Calls `beat` every `every_s` seconds in a thread, from `start` until `stop`."""

    def __init__(self, every_s: float, beat: Callable[[], None]) -> None:
        self._every_s = every_s
        self._beat = beat
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin; later calls change nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End, after a beat that is under way."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self._beat()
