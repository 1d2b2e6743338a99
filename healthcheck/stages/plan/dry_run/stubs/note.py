"""Reports to the warden what a stub does, through a FIFO, and reads what the warden shows."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from healthcheck.sandbox import replies
from healthcheck.sandbox.protocol import (
    BETWEEN,
    CHUNK_BYTES,
    DONE,
    END,
    HELD,
    LOADING,
    NOTED,
    NOTES,
    OFFLINE,
    RECORD_BYTES,
    RUN,
    SERVED,
    SERVING,
    TOLD,
    WAITED,
)

_KIT = sys.argv[1] if len(sys.argv) > 1 else ""
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


def record(kind: str, name: str, *arguments: str, pid: int = 0) -> None:
    """Record a command ("exec") or a call ("python") of a process, by default this one."""
    _tell(pid or os.getpid(), kind, name, arguments)


def _tell(pid: int, kind: str, name: str, arguments: Sequence[str]) -> None:
    """Send one record, in parts that are written whole, and wait until it was read."""
    data = b"".join(
        part.encode("utf-8", "surrogateescape") + b"\0"
        for part in (kind, _here(), name, *arguments)
    )
    data = data[: data.rfind(b"\0", 0, RECORD_BYTES) + 1]
    try:
        for at in range(0, len(data), CHUNK_BYTES):
            more = "more" if at + CHUNK_BYTES < len(data) else ""
            _note(TOLD, str(pid), more, data[at : at + CHUNK_BYTES].hex())
        _answer()
    except OSError:
        return


def _answer() -> bytes:
    """Wait for the answer to a note."""
    handle = os.open(f"{_KIT}/{RUN}/{NOTED}", os.O_RDONLY)
    try:
        return os.read(handle, 1)
    finally:
        os.close(handle)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _note(*words: str) -> None:
    """Write a note, which the warden combines with other observations."""
    handle = os.open(f"{_KIT}/{RUN}/{NOTES}", os.O_WRONLY)
    try:
        os.write(handle, f"{BETWEEN.join(words)}\n".encode("utf-8", "backslashreplace"))
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
    """Record a server and act as one: print what a server prints, then stay.

    A server counts while it holds the lock, of which the kernel names the holder.
    """
    with open(f"{_KIT}/{RUN}/{HELD}", "rb") as held:
        fcntl.lockf(held, fcntl.LOCK_SH, 1, os.getpid())
        _tell(os.getpid(), "server", name, arguments)
        if not os.path.exists(f"{_KIT}/{LOADING}"):
            print(_STARTED.format(pid=os.getpid()), file=sys.stderr, flush=True)
        while True:
            _really_sleep(3600)


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


def lacks_network() -> None:
    """Note that this program needs a network, and has none."""
    _note("network")


def others_run() -> bool:
    """Whether the script has other processes than the ancestors and the pipeline of this one."""
    answer = b"\n"
    while answer == b"\n":  # the answer to another one, which gets this one's in return
        _note("beside", str(os.getpid()))
        answer = _answer()
    return answer == b"+"


def is_offline() -> bool:
    """Whether this program may create no socket."""
    return os.path.exists(f"{_KIT}/{OFFLINE}")


def answer(port: int, request: bytes) -> bytes:
    """What the recorded server on a port says to a request; b"" without a server."""
    names = serves(port)
    if names is None:
        refused(port)
        return b""
    wanted = replies.model_wanted(request) if names[0] else ""
    unknown = "" if wanted in names[1:] else wanted
    asked(unknown)
    return replies.reply(names[1:], unknown)


def asked(unknown_model: str) -> None:
    """Note a request to a recorded server, and the model in it that the server does not have."""
    _note("asked", " ".join(unknown_model[:200].split()))


def serves(port: int) -> list[str] | None:
    """The names of the recorded server on a port, after a word that is empty if it takes any; None without one."""
    rows = (line.split(BETWEEN) for line in _shown(SERVED).split(END))
    return next((row[1:] for row in rows if row[0] == str(port)), None)
