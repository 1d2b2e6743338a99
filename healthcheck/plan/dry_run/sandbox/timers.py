"""Limits of time that something waits under (`timeout 300 tail -f log | grep …`) where no server gets ready."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Collection

from healthcheck.plan.dry_run.sandbox import safely

_LIMIT_BYTES = 64
_MOST_NAMES = 20_000
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Timers:
    """Lets time pass for the stand-in of timeout, which notes its process and its limit in the kit's folder."""

    def __init__(self, kit: str) -> None:
        self._kit = kit
        self._over: set[int] = set()
        self.passed_s = 0.0

    def next_is_over(self, running: Collection[int], apart: Collection[int]) -> bool:
        """Tell the running one with the shortest limit that its time is up; whether there was one.

        `apart` are those whose limit is not for a wait.
        """
        waiting = {pid: limit_s for pid, limit_s in self._noted().items() if pid in running and pid not in apart}
        if not waiting:
            return False
        pid = min(waiting, key=lambda each: waiting[each])
        self._over.add(pid)
        self.passed_s += waiting[pid]
        try:
            os.kill(pid, signal.SIGALRM)  # as its own timer would
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _noted(self) -> dict[int, float]:
        found = {}
        for name in safely.names(self._kit, _MOST_NAMES):
            prefix, _, number = name.partition("limit.")
            if prefix or not number.isdecimal() or len(number) > 9 or int(number) in self._over:
                continue
            noted = safely.read(f"{self._kit}/{name}", _LIMIT_BYTES).decode("utf-8", "replace")
            match = re.fullmatch(r"(\d{1,9}(?:\.\d*)?)([smhd]?)\s*", noted)
            if match and float(match[1]):
                found[int(number)] = float(match[1]) * _UNITS_S[match[2]]
        return found
