"""Reads the processes of a dry run from /proc, and ends them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STAT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `cpu_ticks` are its own, `family_ticks` those of children that it has reaped."""

    pid: int
    parent: int
    state: str
    cpu_ticks: int
    family_ticks: int
    memory_bytes: int


def below(ancestor: int) -> tuple[Process, ...]:
    """Every process below `ancestor`, without zombies."""
    return tuple(process for process in _family(ancestor) if process.state not in "ZX")


def has_others(asking: int) -> bool:
    """Whether something runs below this process besides one of its descendants, its ancestors and its pipeline."""
    family = {process.pid: process for process in below(os.getpid())}
    while asking in family:
        asking = family.pop(asking).parent
    return any(not _input(pid).startswith("pipe:") for pid in family)


def _input(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/0")
    except PermissionError:
        return ""
    except OSError:  # it has ended
        return "pipe:"


def family(ancestor: int) -> set[int]:
    """The process ids below `ancestor`, with zombies."""
    return {process.pid for process in _family(ancestor)}


def _family(ancestor: int) -> list[Process]:
    found = [
        process for name in os.listdir("/proc") if name.isdigit() and (process := _read(int(name)))
    ]
    known, grown = {ancestor}, True
    while grown:
        more = {process.pid for process in found if process.parent in known} - known
        known |= more
        grown = bool(more)
    return [process for process in found if process.pid in known and process.pid != ancestor]


def _read(pid: int) -> Process | None:
    try:
        handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fields = os.read(handle, _STAT_BYTES).rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return None
    finally:
        os.close(handle)
    own, ended = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return Process(
        pid, int(fields[1]), fields[0].decode(), own, ended, int(fields[21]) * _PAGE_BYTES
    )


def used_s(family: Iterable[Process]) -> float:
    """The processor time of these processes and of the children that this process has reaped, in seconds."""
    reaped = os.times()
    ticks = sum(process.cpu_ticks + process.family_ticks for process in family)
    return ticks / _TICKS_PER_S + reaped.children_user + reaped.children_system


def exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def waits(pid: int) -> bool:
    """Whether a process is gone, or neither runs nor waits for the disk."""
    process = _read(pid)
    return process is None or process.state not in "RD"


def command(pid: int, most_bytes: int) -> list[str]:
    """The command line of a process; empty if it cannot be read or is longer than `most_bytes`."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            data = file.read(most_bytes + 1)
    except OSError:
        return []
    return [os.fsdecode(word) for word in data.split(b"\0")[:-1]] if len(data) <= most_bytes else []


def environment(pid: int) -> dict[str, str]:
    """The initial environment of a process; empty if it cannot be read."""
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (
        entry.decode("utf-8", "surrogateescape").partition("=")
        for entry in data.split(b"\0")
        if entry
    )
    return {name: value for name, _, value in pairs}


def end_all(ancestor: int) -> None:
    """Kill everything below `ancestor`, stopping it first so that nothing forks meanwhile."""
    for _ in range(200):
        family = below(ancestor)
        if not family:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in family:
                send(process.pid, number)
        reap()


def end(pid: int) -> None:
    send(pid, signal.SIGKILL)


def send(pid: int, number: int) -> None:
    """Send a signal; does nothing if the process is gone or belongs to another user."""
    with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
        os.kill(pid, number)


def reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
