"""Reports to the warden what a stub does: records over a socket, short notes through a FIFO."""

from __future__ import annotations

import _socket
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from healthcheck.sandbox.protocol import (
    BETWEEN,
    DONE,
    END,
    LOADING,
    NOTES,
    PORTS,
    RECORD_BYTES,
    RECORDER,
    RUN,
    SERVING,
    WAITED,
)

_KIT = sys.argv[1] if len(sys.argv) > 1 else ""
_ADDRESS_BYTES = 100
_PATIENCE_S = 30.0
_A_DAY_S = 80_000
"""A sleep of at least this length is meant to keep a program alive for ever."""
_LONG_S, _LONG_NAPS = 100, 12
"""During a long sleep, a server in the background has time to start."""
_VAIN_WAITS = 3
_STARTED = """INFO: Started server process [{pid}]
INFO: Waiting for application startup.
INFO: Application startup complete.
INFO: Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)"""
_really_sleep = time.sleep
_clocks = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter")}
_passed_s = 0.0
"""How long this program meant to sleep in total."""


def record(kind: str, name: str, *arguments: str) -> None:
    """Record a command ("exec") or a call ("python")."""
    connection = _tell(kind, name, arguments)
    if connection:
        connection.close()


def _tell(kind: str, name: str, arguments: Sequence[str]) -> _socket.socket | None:
    """Send one record and wait for its receipt; None if it is not received.

    A server counts as running while its connection is open.
    """
    data = b"".join(part.encode("utf-8", "surrogateescape") + b"\0" for part in (kind, _here(), name, *arguments))
    data = data[: data.rfind(b"\0", 0, RECORD_BYTES) + 1]
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_PATIENCE_S)
        _connect(connection)
        connection.sendall(len(data).to_bytes(4, "big") + data)
        if connection.recv(1):
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _connect(connection: _socket.socket) -> None:
    place = f"{_KIT}/{RUN}/{RECORDER}"
    if len(os.fsencode(place)) < _ADDRESS_BYTES:
        connection.connect(place)
        return
    folder = os.open(f"{_KIT}/{RUN}", os.O_PATH)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{RECORDER}")
    finally:
        os.close(folder)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _note(*words: str) -> None:
    """Write a note, which the warden combines with other observations."""
    handle = os.open(f"{_KIT}/{RUN}/{NOTES}", os.O_WRONLY)
    try:
        os.write(handle, f"{BETWEEN.join(words)}\n".encode("ascii", "replace"))
    finally:
        os.close(handle)


def _shown(name: str) -> str:
    """The text of a file that only the warden writes; "" if it cannot be read."""
    try:
        with open(f"{_KIT}/{RUN}/{name}", encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return ""


def serve(name: str, arguments: Sequence[str]) -> None:
    """Record a server and act as one: print what a server prints, then stay."""
    connection = _tell("server", name, arguments)
    if not os.path.exists(f"{_KIT}/{LOADING}"):
        print(_STARTED.format(pid=os.getpid()), file=sys.stderr, flush=True)
    try:
        while True:
            _really_sleep(3600)
    finally:
        if connection:
            connection.close()


def recorded() -> Iterator[list[str]]:
    """The records so far: process id, kind, working directory, program, arguments."""
    for line in _shown(DONE).split(END):
        words = line.split(BETWEEN)
        if len(words) > 4:
            yield words


def keep_time() -> None:
    """Let this program's clocks advance while it sleeps, in a dry run where no server becomes ready."""

    def ahead(clock: Callable[[], float]) -> Callable[[], float]:
        return lambda: clock() + _passed_s

    if os.path.exists(f"{_KIT}/{LOADING}"):
        for name, clock in _clocks.items():
            setattr(time, name, ahead(clock))


def slept(seconds: float) -> None:
    """Note how long the program meant to sleep."""
    global _passed_s  # noqa: PLW0603 - there is one time
    _passed_s += seconds
    _note("slept", f"{float(seconds):f}")


def sleep(seconds: float) -> None:
    """Replaces time.sleep: waits a moment for other programs to start, and hardly at all once a server runs."""
    slept(seconds)
    naps = not is_serving() and seconds < _A_DAY_S
    if naps:
        _note("naps", str(os.getpid()))
    for _ in range(_LONG_NAPS if _LONG_S <= seconds < _A_DAY_S else 1):
        _really_sleep(nap_s(seconds))
        if is_serving():
            break
    if naps:
        _note("woke", str(os.getpid()))


def nap_s(seconds: float) -> float:
    """The actual duration of a sleep."""
    if seconds >= _A_DAY_S:
        return seconds
    return 0.0005 if is_serving() else min(seconds, 0.15)


def is_serving() -> bool:
    """Whether a recorded server answers yet."""
    return bool(_shown(SERVING))


def waited_in_vain() -> None:
    """Note that a request waited for a server to start, and none did."""
    _note("waited")


def has_patience() -> bool:
    """Whether requests still wait for a server to start: a script may poll often before it starts one."""
    return len(_shown(WAITED)) < _VAIN_WAITS


def refused(port: object) -> None:
    """Note that nothing listens on a port although a server runs."""
    if is_serving() and not os.path.exists(f"{_KIT}/{LOADING}"):
        _note("refused", str(port))


def real_port(port: int) -> int:
    """The actual port of a recorded server, which differs in a sandbox without its own network."""
    for line in _shown(PORTS).splitlines():
        asked, _, real = line.partition(" ")
        if asked == str(port):
            return int(real)
    return port
