"""Time limits of commands that wait (`timeout 300 tail -f log | grep …`) for a server that never becomes ready."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Collection

from healthcheck.sandbox import processes

_MOST = 200
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Timers:
    """Ends waits by simulated time, for the stub of timeout, which notes its process and its limit."""

    def __init__(self) -> None:
        self._limits: dict[int, float] = {}
        self._slept: dict[int, float] = {}
        self._over: set[int] = set()
        self._due: set[int] = set()
        self.passed_s = 0.0

    def note(self, pid: int, limit: str) -> None:
        """Register a command's time limit; 0 is none."""
        if seconds_of(limit) and len(self._limits) < _MOST:
            self._limits[pid] = seconds_of(limit)

    def passes(self, pid: int, seconds: float, limit_s: float) -> bool:
        """Add a sleep under this limit. Returns whether the limit has passed; `ring` then signals its process."""
        if not pid or not limit_s or len(self._slept) >= _MOST:
            return False
        self._slept[pid] = self._slept.get(pid, 0.0) + seconds
        if self._slept[pid] < limit_s or pid not in processes.family(os.getpid()):
            return False
        self._due.add(pid)
        return True

    def ring(self) -> None:
        """Signal the processes whose limit has passed; a process that has only just started would end silently."""
        for pid in [pid for pid in self._due if processes.waits(pid)]:
            self._due.remove(pid)
            _ring(pid)

    def next_is_over(self, running: Collection[int], apart: Collection[int]) -> bool:
        """Signal the running process with the shortest limit; returns whether there was one.

        `apart` are processes whose limit is not for a wait.
        """
        done = {*apart, *self._over}
        waiting = {
            pid: limit_s
            for pid, limit_s in self._limits.items()
            if pid in running and pid not in done
        }
        if not waiting:
            return False
        pid = min(waiting, key=lambda each: waiting[each])
        self._over.add(pid)
        self.passed_s += waiting[pid]
        return _ring(pid)


def _ring(pid: int) -> bool:
    """Send SIGALRM, as its own timer would, to a process of the dry run; returns whether it is one."""
    if pid not in processes.family(os.getpid()):
        return False
    processes.send(pid, signal.SIGALRM)
    return True


def seconds_of(text: str) -> float:
    """A duration in the syntax of sleep and timeout; 0 for anything else."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})([smhd]?)", text, re.ASCII)
    return float(match[1]) * _UNITS_S[match[2]] if match else 0.0
