"""Processes and their listening ports, as far as this user may see them. The only user of psutil."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from healthcheck.text.messages import msg

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A snapshot of a process.

    Attributes:
        command: its command line, or its name if the command line is empty or may not be read.
        user: the user who runs it, "" if that may not be read.
        started_s: its start in seconds since the epoch; with the pid, this identifies a process uniquely.
    """

    pid: int
    command: str = ""
    user: str = ""
    started_s: float = 0.0

    def same(self, other: Process | None) -> bool:
        """Whether both are the same process; the command line may have changed."""
        return (
            other is not None
            and self.pid == other.pid
            and abs(self.started_s - other.started_s) < 1
        )

    def __str__(self) -> str:
        command = shortened(self.command) or msg("its command line may not be read")
        if not self.user:
            return msg("process {pid} ({command})", pid=self.pid, command=command)
        return msg(
            "process {pid} of user {user} ({command})",
            pid=self.pid,
            user=self.user,
            command=command,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A TCP socket on a local port; `process` is None if this user may not see its owner."""

    address: str
    port: int
    process: Process | None = None
    listening: bool = True

    @property
    def loopback(self) -> bool:
        return self.address.removeprefix("::ffff:").startswith("127.") or self.address == "::1"

    @property
    def owner(self) -> str:
        """The owning process in words."""
        return str(self.process or msg("a process that this user may not see"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The resources that a group of processes has used: CPU seconds, and bytes read and written."""

    cpu_s: float = 0.0
    io_bytes: int = 0


def shortened(text: str, limit: int = 160) -> str:
    """The text on one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def process(pid: int) -> Process | None:
    """The process with this id; None if it does not exist or is a zombie."""
    try:
        found = psutil.Process(pid)
        if found.status() == psutil.STATUS_ZOMBIE:
            return None
        return _read(found)
    except psutil.Error:
        return None


def in_container(pid: int) -> bool:
    """Whether the process has another mount namespace than this one; False if that may not be read."""
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt")
    except OSError:
        return False


def descendants(pid: int) -> tuple[Process, ...]:
    """The living descendants of a process, children before grandchildren."""
    try:
        below = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return ()
    return tuple(found for child in below if (found := process(child.pid)))


def marked(variable: str, value: str) -> tuple[Process, ...]:
    """The living processes that were started with this environment variable, among those that may be read."""
    found = []
    for candidate in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if candidate.environ().get(variable) == value and (seen := process(candidate.pid)):
                found.append(seen)
    return tuple(found)


def listeners() -> tuple[Listener, ...]:
    """Every listening TCP socket of this network namespace, IPv4 and IPv6."""
    return tuple(
        Listener(
            address=found.laddr.ip,
            port=found.laddr.port,
            process=process(found.pid) if found.pid else None,
        )
        for found in psutil.net_connections(kind="tcp")
        if found.status == psutil.CONN_LISTEN and found.laddr
    )


def holders(port: int) -> tuple[Listener, ...]:
    """The sockets that keep a server from listening on the port, listening sockets first.

    A connection in TIME_WAIT does not count: servers bind with SO_REUSEADDR. A socket that is bound but does not
    listen yet is in no table, so a trial bind detects it; its owner is then unknown.
    """
    found = tuple(listener for listener in listeners() if listener.port == port)
    if found:
        return found
    blocked = [address for address in ("0.0.0.0", "::") if not _can_bind(address, port)]  # noqa: S104
    if not blocked:
        return ()
    passing = {psutil.CONN_TIME_WAIT, psutil.CONN_LISTEN}
    connected = tuple(
        Listener(
            address=entry.laddr.ip,
            port=port,
            process=process(entry.pid) if entry.pid else None,
            listening=False,
        )
        for entry in psutil.net_connections(kind="tcp")
        if entry.laddr and entry.laddr.port == port and entry.status not in passing
    )
    return connected or tuple(
        Listener(address=address, port=port, listening=False) for address in blocked
    )


def outputs(pids: Iterable[int]) -> tuple[Path, ...]:
    """The files that these processes write standard output and error to."""
    found: dict[Path, None] = {}
    for pid in pids:
        for descriptor in (1, 2):
            with contextlib.suppress(OSError):
                target = Path(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
                if target.is_file():
                    found[target] = None
    return tuple(found)


def activity(pids: Iterable[int]) -> Activity:
    """CPU time and I/O of these processes so far; values that may not be read count as 0.

    I/O adds the bytes of system calls and the bytes read from storage: mapped files appear only in the latter.
    """
    cpu_s, io_bytes = 0.0, 0
    for pid in pids:
        with contextlib.suppress(psutil.Error, OSError):
            found = psutil.Process(pid)
            times = found.cpu_times()
            cpu_s += times.user + times.system
            counters = found.io_counters()
            io_bytes += counters.read_chars + counters.write_chars + counters.read_bytes
    return Activity(cpu_s=cpu_s, io_bytes=io_bytes)


def kill(victims: Collection[Process], wait_s: float = 20.0) -> tuple[Process, ...]:
    """Send SIGKILL to exactly these processes (a reused pid is spared); returns those that survive the wait.

    They are checked once more after the wait, as this process may not have run during all of it.
    """
    for victim in victims:
        with contextlib.suppress(psutil.Error):
            if victim.same(process(victim.pid)):
                psutil.Process(victim.pid).kill()
    end = time.monotonic() + wait_s
    left = tuple(victims)
    while left:
        over = time.monotonic() >= end
        left = tuple(victim for victim in left if victim.same(process(victim.pid)))
        if over:
            break
        time.sleep(0.02 if left else 0)
    return left


def wait_or_kill(child: subprocess.Popen[bytes], deadline_s: float) -> bool:
    """Wait for the leader of a session, then kill the rest of its group; returns whether the leader ended in time.

    A process that hangs in a driver cannot be killed; the wait for it is bounded.
    """
    try:
        child.wait(deadline_s)
    except subprocess.TimeoutExpired:
        return False
    else:
        return True
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(2)


def started(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | None = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a program as the leader of a new session, with its standard output as a pipe.

    A signal in between also ends the program: Popen alone forgets a child that it has not returned yet.

    Raises:
        OSError: the program cannot be run.
    """
    kept: list[int] = []
    own = (
        _ENDING if threading.current_thread() is threading.main_thread() else ()
    )  # only there can they be set
    handlers = {number: handler for number in own if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda received, _: kept.append(received))
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if kept:
            if process is not None:
                wait_or_kill(process, 0)
                for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
                    stream.close()
            signal.raise_signal(kept[0])
    return process


def ran(
    command: Sequence[str],
    read: Callable[[IO[bytes]], None],
    *,
    deadline_s: float,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
) -> int | None:
    """Run a program in a new session while `read` gets its output; returns its exit status, None past the deadline.

    Raises:
        OSError: the program cannot be run.
    """
    process = started(command, cwd=cwd, env=env, stderr=subprocess.STDOUT)
    reader = threading.Thread(target=_reading, args=(process.stdout, read), daemon=True)
    reader.start()
    in_time = wait_or_kill(process, deadline_s)
    reader.join(2)
    return process.returncode if in_time else None


def _reading(stream: IO[bytes], read: Callable[[IO[bytes]], None]) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        read(stream)


def _read(found: psutil.Process) -> Process:
    command = user = ""
    with contextlib.suppress(psutil.AccessDenied, OSError):
        command = " ".join(found.cmdline())
    with contextlib.suppress(psutil.AccessDenied, OSError):
        user = found.username()
    return Process(
        pid=found.pid, command=command or found.name(), user=user, started_s=found.create_time()
    )


def _can_bind(address: str, port: int) -> bool:
    """Whether a server could bind the address now; True if the machine lacks the address family."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            trial.bind((address, port))
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True
