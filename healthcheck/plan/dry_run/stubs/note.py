"""Writes records from inside a stand-in Python, in the layout that the shell stand-ins use."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

ADDRESS = "10.213.37.2"
"""Of the rehearsed machine: private, and one that nobody writes into a script."""
HOST_NAME = "rehearsed-machine"
_KIT = sys.argv[1] if len(sys.argv) > 1 else ""
_A_DAY_S = 80_000
"""As long as a sleep that is meant to keep a program there for good."""
_VAIN_WAITS = 3
_really_sleep = time.sleep
_clocks = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter")}
_passed_s = 0.0
"""How long this program meant to sleep."""


def record(kind: str, name: str, *arguments: str) -> None:
    """Record a command ("server", "exec") or a call ("python")."""
    slot = f"{_KIT}/records/{os.getpid()}.{name.replace('/', '.')[:40]}"
    while os.path.exists(slot):
        slot += "+"
    parts = [kind, str(os.getpid()), os.getcwd(), name, *arguments]
    with open(slot, "wb") as file:
        file.write(b"".join(part.encode("utf-8", "surrogateescape") + b"\0" for part in parts))
    with open(f"{slot}.done", "wb"):
        pass


def serve(name: str, arguments: Sequence[str]) -> None:
    """Record a server and be one: say what a server says, then stay."""
    record("server", name, *arguments)
    for line in (
        ()
        if os.path.exists(f"{_KIT}/loading")
        else (
            f"INFO: Started server process [{os.getpid()}]",
            "INFO: Application startup complete.",
            "INFO: Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)",
        )
    ):
        print(line, file=sys.stderr, flush=True)
    while True:
        _really_sleep(3600)


def keep_time() -> None:
    """From now on, where no server ever gets ready, sleeping takes time on the clocks of this program."""

    def ahead(clock: Callable[[], float]) -> Callable[[], float]:
        return lambda: clock() + _passed_s

    if os.path.exists(f"{_KIT}/loading"):
        for name, clock in _clocks.items():
            setattr(time, name, ahead(clock))


def slept(seconds: float) -> None:
    """Note how long the program meant to sleep."""
    global _passed_s  # noqa: PLW0603 - there is one time
    _passed_s += seconds
    with open(f"{_KIT}/slept", "a", encoding="ascii") as file:
        file.write(f"{float(seconds):f}\n")


def sleep(seconds: float) -> None:
    """Stand in for time.sleep: a moment for others to start, and nothing once a server runs."""
    slept(seconds)
    nap = f"{_KIT}/napping/{os.getpid()}"
    if not is_serving() and seconds < _A_DAY_S:
        with open(nap, "wb"):
            pass
    _really_sleep(nap_s(seconds))
    if os.path.exists(nap):
        os.unlink(nap)


def nap_s(seconds: float) -> float:
    """How long a sleep really takes."""
    if seconds >= _A_DAY_S:
        return seconds
    return 0.0005 if is_serving() else min(seconds, 0.15)


def is_serving() -> bool:
    """Whether a recorded server answers by now."""
    return os.path.exists(f"{_KIT}/serving")


def waited_in_vain() -> None:
    """Note that a question waited for a server to start, and none did."""
    with open(f"{_KIT}/waited", "ab") as file:
        file.write(b".")


def has_patience() -> bool:
    """Whether questions still wait for a server to start: a script may ask often before it starts one."""
    return not os.path.exists(f"{_KIT}/waited") or os.path.getsize(f"{_KIT}/waited") < _VAIN_WAITS


def refused(port: object) -> None:
    """Note that nothing listens at a port though a server is there."""
    if is_serving() and not os.path.exists(f"{_KIT}/loading"):
        with open(f"{_KIT}/refused", "a", encoding="ascii") as file:
            file.write(f"{port}\n")


def real_port(port: int) -> int:
    """Where a recorded server's port really is: elsewhere in a sandbox without a network of its own."""
    try:
        with open(f"{_KIT}/ports/{port}", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return port
