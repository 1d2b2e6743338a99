"""Writes records from inside a stand-in Python, in the layout that the shell stand-ins use."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

ADDRESS = "10.213.37.2"
"""Of the rehearsed machine: private, and one that nobody writes into a script."""
HOST_NAME = "rehearsed-machine"
_KIT = sys.argv[1] if len(sys.argv) > 1 else ""
_really_sleep = time.sleep


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


def sleep(seconds: float) -> None:
    """Stand in for time.sleep: a moment for others to start, and nothing once a server runs."""
    with open(f"{_KIT}/slept", "a", encoding="ascii") as file:
        file.write(f"{float(seconds):f}\n")
    if seconds >= 80_000:
        _really_sleep(seconds)
    if os.path.exists(f"{_KIT}/serving"):
        _really_sleep(0.0005)
        return
    nap = f"{_KIT}/napping/{os.getpid()}"
    with open(nap, "wb"):
        _really_sleep(min(seconds, 0.15))
    if os.path.exists(nap):
        os.unlink(nap)


def real_port(port: int) -> int:
    """Where a recorded server's port really is: elsewhere in a sandbox without a network of its own."""
    try:
        with open(f"{_KIT}/ports/{port}", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return port
