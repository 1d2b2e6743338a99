"""Reports to the warden what a stub does, through a FIFO, and reads the files that only the warden writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from healthcheck.sandbox.protocol import (
    BETWEEN,
    CHUNK_BYTES,
    DONE,
    END,
    LOADING,
    NOTED,
    NOTES,
    OFFLINE,
    RECORD_BYTES,
    RUN,
    SERVING,
    TOLD,
    WAITED,
)

KIT = sys.argv[1] if len(sys.argv) > 1 else ""
_MOST_VAIN_WAITS = 3
_RECORD_WAS_READ, _OTHERS_RUN = b"\n", b"+"
"""Answers of the warden: to a record, and to the question of `has_other_processes`."""


def record(kind: str, name: str, *arguments: str, pid: int = 0) -> None:
    """Record a command ("exec") or a call ("python") of a process, by default this one."""
    send_record(pid or os.getpid(), kind, name, arguments)


def send_record(pid: int, kind: str, name: str, arguments: Sequence[str]) -> None:
    """Send one record, in parts that are written whole, and wait until the warden has read it."""
    data = b"".join(
        word.encode("utf-8", "surrogateescape") + b"\0"
        for word in (kind, _working_directory(), name, *arguments)
    )
    data = data[: data.rfind(b"\0", 0, RECORD_BYTES) + 1]
    try:
        for start in range(0, len(data), CHUNK_BYTES):
            end = start + CHUNK_BYTES
            more = "more" if end < len(data) else ""
            send(TOLD, str(pid), more, data[start:end].hex())
        _wait_for_answer()
    except OSError:
        return


def send(*words: str) -> None:
    """Send a note, which the warden combines with other observations."""
    handle = os.open(f"{KIT}/{RUN}/{NOTES}", os.O_WRONLY)
    try:
        os.write(handle, f"{BETWEEN.join(words)}\n".encode("utf-8", "backslashreplace"))
    finally:
        os.close(handle)


def _wait_for_answer() -> bytes:
    """The next answer of the warden, a byte. All stubs read from one FIFO, so it may be for another one."""
    handle = os.open(f"{KIT}/{RUN}/{NOTED}", os.O_RDONLY)
    try:
        return os.read(handle, 1)
    finally:
        os.close(handle)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def warden_file(name: str) -> str:
    """The text of a file that only the warden writes; "" if it cannot be read."""
    try:
        with open(f"{KIT}/{RUN}/{name}", encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return ""


def records() -> Iterator[list[str]]:
    """The records so far: process id, kind, working directory, program, arguments."""
    for line in warden_file(DONE).split(END):
        words = line.split(BETWEEN)
        if len(words) > 4:
            yield words


def is_serving() -> bool:
    """Whether a recorded server answers yet."""
    return bool(warden_file(SERVING))


def is_loading() -> bool:
    """Whether no server becomes ready in this dry run."""
    return os.path.exists(f"{KIT}/{LOADING}")


def is_offline() -> bool:
    """Whether this program may create no socket."""
    return os.path.exists(f"{KIT}/{OFFLINE}")


def has_patience() -> bool:
    """Whether requests still wait for a server to start: a script may poll often before it starts one."""
    return len(warden_file(WAITED)) < _MOST_VAIN_WAITS


def vain_wait() -> None:
    """Note that a request waited for a server to start, and none did."""
    send("waited")


def refused_port(port: object) -> None:
    """Note that nothing listens on a port although a server runs."""
    if is_serving() and not is_loading():
        send("refused", str(port))


def missing_network() -> None:
    """Note that this program needs a network, and has none."""
    send("network")


def has_other_processes() -> bool:
    """Whether the script has other processes than the ancestors and the pipeline of this one.

    An answer to a record belongs to another stub, which still waits for it. This one then asks again. The warden's
    answer to that reaches one of the two, and any answer lets the other stub continue.
    """
    answer = _RECORD_WAS_READ
    while answer == _RECORD_WAS_READ:
        send("beside", str(os.getpid()))
        answer = _wait_for_answer()
    return answer == _OTHERS_RUN
