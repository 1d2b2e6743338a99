"""Sleeps of a program in the dry run: short ones, after which its clocks may show the time that it asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from healthcheck.stages.plan.dry_run.stubs import note

_A_DAY_S = 80_000
"""A sleep of at least this length is meant to keep a program alive for ever."""
_LONG_S, _NAPS_OF_LONG_SLEEP = 100, 12
"""During a long sleep, a server in the background has time to start."""
really_sleep = time.sleep
_clocks = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter")}
_requested_s = 0.0
"""The total of the sleeps that this program asked for."""


def advance_clocks() -> None:
    """Let this program's clocks advance while it sleeps, in a dry run where no server becomes ready."""

    def ahead(clock: Callable[[], float]) -> Callable[[], float]:
        return lambda: clock() + _requested_s

    if note.is_loading():
        for name, clock in _clocks.items():
            setattr(time, name, ahead(clock))


def note_sleep(seconds: float) -> None:
    """Note the length of a sleep that the program asked for."""
    global _requested_s  # noqa: PLW0603 - there is one time
    _requested_s += seconds
    note.send("slept", f"{float(seconds):f}")


def sleep(seconds: float) -> None:
    """Replaces time.sleep: waits a moment for other programs to start, and hardly at all once a server runs."""
    note_sleep(seconds)
    is_nap = not note.is_serving() and seconds < _A_DAY_S
    if is_nap:
        note.send("naps", str(os.getpid()))
    for _ in range(_NAPS_OF_LONG_SLEEP if _LONG_S <= seconds < _A_DAY_S else 1):
        really_sleep(nap_s(seconds))
        if note.is_serving():
            break
    if is_nap:
        note.send("woke", str(os.getpid()))


def nap_s(seconds: float) -> float:
    """The actual duration of a sleep."""
    if seconds >= _A_DAY_S:
        return seconds
    return 0.0005 if note.is_serving() else min(seconds, 0.15)
