"""Answers the questions of a program's system call filter: signals, connections, file modes.

Without namespaces the program shares these with the machine. It may signal its own processes, connect to servers
of the dry run and change modes of its own files. Each answer rests on copies that the program cannot change.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from healthcheck.sandbox import endpoints, processes, seccomp, syscalls
from healthcheck.sandbox.protocol import RECORDER

_RECEIVE, _SEND, _ADD_HANDLE = 0xC0502100, 0xC0182101, 0x40182103
_REQUEST_BYTES, _CONTINUE, _REPLACE = 80, 1, 1
_FROM_HERE = -100  # AT_FDCWD
_PATH_BYTES = 4096
_PAGE = 4096
_CONNECT_S = 5.0
_MEANT = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what the kernel connects to for these
_CLOSES = 0o2000000  # O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Question:
    """One system call that waits for an answer."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]

    @property
    def process(self) -> int:
        """The process of the thread; 0 if it has ended."""
        return processes.leader(self.thread)


class Supervisor:
    """Answers on a listener, in a thread, until the last program has ended.

    Args:
        folders: where the program may change modes.
        ports: maps a port to the port where its recorded server really listens.
        admit: takes the other end of a connection, with the process that asked for it.
    """

    def __init__(
        self,
        listener: int,
        folders: Iterable[str],
        ports: Callable[[int], int | None],
        admit: Callable[[int, socket.socket], None],
    ) -> None:
        self._listener, self._ports, self._admit = listener, ports, admit
        self._folders = tuple(os.path.realpath(folder) for folder in folders)
        names = {number: name for name, number in syscalls.numbers().items()}
        self._names = names
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while True:
            for _, events in poll.poll():
                if not events & select.POLLIN:
                    return
            data = bytearray(_REQUEST_BYTES)
            try:
                fcntl.ioctl(self._listener, _RECEIVE, data)
            except OSError:
                continue  # the asking thread was killed meanwhile
            fields = struct.unpack("QIIiIQ6Q", data)
            self._answer(Question(fields[0], fields[1], fields[3], fields[6:]))

    def _answer(self, asked: Question) -> None:
        try:
            goes_on = self._decide(asked)
            problem = 0
        except OSError as error:
            goes_on, problem = False, error.errno or errno.EPERM
        reply = struct.pack("QqiI", asked.id, 0, -problem, _CONTINUE if goes_on else 0)
        try:
            fcntl.ioctl(self._listener, _SEND, reply)
        except OSError:
            return

    def _decide(self, asked: Question) -> bool:
        """Whether the kernel continues the call; False if it is already done or to be ignored.

        A call with an address in memory never continues: another thread could change the memory after the check.

        Raises:
            OSError: the call has to fail with this error number.
        """
        name = self._names.get(asked.number, "")
        if name in seccomp.SIGNALS:
            return self._signal(name, asked)
        if name == "connect":
            self._connect(asked)
        else:
            self._mode(name, asked)
        return False

    def _signal(self, name: str, asked: Question) -> bool:
        target = _signed(asked.arguments[0])
        number = asked.arguments[2 if name in {"tgkill", "rt_tgsigqueueinfo"} else 1]
        if number == 0 or (name == "kill" and target == 0):
            return True
        family = processes.family(os.getpid())
        if name == "kill" and target == -1:
            for pid in family - {asked.process}:
                processes.send(pid, number)
            return False
        if name == "kill" and target < 0:
            if any(processes.group(pid) == -target for pid in family):
                return True
            raise OSError(errno.ESRCH, "no such group of the dry run")
        leader = processes.leader(target) if name == "tkill" else target
        if leader in family:
            return True
        raise OSError(errno.EPERM if processes.exists(target) else errno.ESRCH, "no process of the dry run")

    def _connect(self, asked: Question) -> None:
        handle, address, length = _signed(asked.arguments[0]), asked.arguments[1], asked.arguments[2]
        data = _memory(asked.thread, address, min(length, 128))
        family = struct.unpack_from("H", data)[0] if len(data) >= 2 else socket.AF_UNSPEC
        if family == socket.AF_UNIX:
            self._record(asked, handle, data[2:].partition(b"\0")[0])
            return
        place = {socket.AF_INET: slice(4, 8), socket.AF_INET6: slice(8, 24)}.get(family)
        if place is None or len(data) < place.stop:
            raise OSError(errno.EAFNOSUPPORT, "nothing of the dry run has such an address")
        host, port = socket.inet_ntop(family, data[place]), struct.unpack_from(">H", data, 2)[0]
        with self._reached(family, host, port) as connection:
            self._replace(asked, handle, connection)

    def _record(self, asked: Question, handle: int, path: bytes) -> None:
        """Connect a stub to the warden by replacing its socket.

        Raises:
            OSError: the path is another one.
        """
        if not path.endswith(f"/{RECORDER}".encode()):
            raise OSError(errno.ECONNREFUSED, "no local socket outside")
        pid = asked.process
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._replace(asked, handle, theirs)
                self._admit(pid, ours)
            except OSError:
                ours.close()
                raise

    def _reached(self, family: int, host: str, port: int) -> socket.socket:
        """A connection to a recorded server, or to a server of the program itself at this very address.

        Raises:
            OSError: there is no such server, or the connection leads elsewhere.
        """
        if not _is_here(host):
            raise OSError(errno.ENETUNREACH, "there is no network")
        real = self._ports(port) if family == socket.AF_INET else None
        if real is not None:
            return _connected(family, "127.0.0.1", real)
        host = _MEANT.get(host, host)
        theirs = endpoints.Endpoint.of(host, port)
        listening = endpoints.listening(theirs)
        if not listening or not listening <= _held():
            raise OSError(errno.ECONNREFUSED, "no server of the dry run")
        connection = _connected(family, host, port)
        ours = endpoints.Endpoint.of(*connection.getsockname()[:2])
        if endpoints.is_between(ours, theirs) and endpoints.listening(theirs) <= listening:
            return connection
        connection.close()
        raise OSError(errno.ECONNREFUSED, "it led somewhere else")

    def _replace(self, asked: Question, handle: int, connection: socket.socket) -> None:
        """Replace the program's own unconnected socket with the connection."""
        flags = _flags(asked.thread, handle)
        if flags & os.O_NONBLOCK:
            connection.setblocking(False)
        closes = flags & _CLOSES
        request = struct.pack("QIIII", asked.id, _REPLACE, connection.fileno(), handle, closes)
        fcntl.ioctl(self._listener, _ADD_HANDLE, request)

    def _mode(self, name: str, asked: Question) -> None:
        if name == "fchmod":
            place, mode = f"/proc/{asked.thread}/fd/{asked.arguments[0]}", asked.arguments[1]
        elif name == "chmod":
            place, mode = _path(asked.thread, _FROM_HERE, asked.arguments[0]), asked.arguments[1]
        else:
            place, mode = _path(asked.thread, _signed(asked.arguments[0]), asked.arguments[1]), asked.arguments[2]
        handle = os.open(place, os.O_PATH | os.O_CLOEXEC)
        try:
            real = os.readlink(f"/proc/self/fd/{handle}")
            if not any(real == folder or real.startswith(f"{folder}/") for folder in self._folders):
                raise OSError(errno.EPERM, "no file of the dry run")
            os.chmod(f"/proc/self/fd/{handle}", mode & 0o1777)
        finally:
            os.close(handle)


def _signed(argument: int) -> int:
    low = argument & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _memory(thread: int, address: int, length: int) -> bytes:
    handle = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(handle, length, address)
    finally:
        os.close(handle)


def _path(thread: int, folder: int, address: int) -> str:
    """Read a path from the memory of a thread and make it valid for this process."""
    text = b""
    while b"\0" not in text:
        text += _memory(thread, address + len(text), _PAGE - (address + len(text)) % _PAGE)
        if len(text) > _PATH_BYTES and b"\0" not in text[:_PATH_BYTES]:
            raise OSError(errno.ENAMETOOLONG, "a long path")
    path = os.fsdecode(text.partition(b"\0")[0])
    if not path:
        raise OSError(errno.ENOENT, "no path")
    start = f"/proc/{thread}/cwd" if folder == _FROM_HERE else f"/proc/{thread}/fd/{folder}"
    return os.path.join(start, path)


def _flags(thread: int, handle: int) -> int:
    with open(f"/proc/{thread}/fdinfo/{handle}", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == "flags":
                return int(value, 8)
    return 0


def _is_here(host: str) -> bool:
    return host.removeprefix("::ffff:").startswith("127.") or host in {"0.0.0.0", "::", "::1"}  # noqa: S104


def _held() -> set[str]:
    """The open files of all processes of the dry run."""
    return {name for pid in processes.family(os.getpid()) for name in processes.handles(pid)}


def _connected(family: int, host: str, port: int) -> socket.socket:
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(_CONNECT_S)
        connection.connect((host, port))
        connection.setblocking(True)
    except TimeoutError:
        connection.close()
        raise OSError(errno.ECONNREFUSED, "it does not accept") from None
    except OSError:
        connection.close()
        raise
    return connection


def send_listener(channel: socket.socket, handle: int) -> None:
    """Send the listener from the program to the warden."""
    socket.send_fds(channel, [b"l"], [handle])


def receive_listener(channel: socket.socket) -> int | None:
    """The listener that the program sent; None if the program ended first."""
    _, handles, _, _ = socket.recv_fds(channel, 1, 1)
    return handles[0] if handles else None
