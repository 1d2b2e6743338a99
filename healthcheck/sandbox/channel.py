"""How stubs reach the warden: a socket for records, a FIFO for short notes, and files that stubs can only read.

All of them lie in one folder, made before the script starts. The warden holds the folder open and gives up the
right to write there; the script never has it. Connections, bytes, records and waits are all bounded.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.sandbox import protocol

_AT_ONCE = 128
"""Connections at a time: more than the processes of a dry run, each of which needs at most one."""
_HALF_SENT_S = 5.0
_ROOM_S = 2.0
"""How long a new connection waits until others end."""
_LENGTH_BYTES = 4
_LINE_BYTES = 4096
"""Longest note: shorter lines are written atomically (PIPE_BUF)."""
_CHUNK_BYTES = 1 << 16
_NOTES_BYTES = 8 * 1024**2
_PASSED_BYTES = 24
_SHOWN_BYTES = 1024**2
_TAKEN = b"\1"


@dataclass(frozen=True, slots=True)
class Message:
    """One record: the sending process (as the kernel reports it) and the parts that it sent."""

    pid: int
    parts: tuple[str, ...]
    connection: socket.socket


@dataclass(slots=True)
class _Peer:
    pid: int
    connection: socket.socket
    until: float
    data: bytes = b""


class Shown:
    """The files that the script may read, opened for writing when they are created."""

    def __init__(self, folder: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        names = (protocol.SERVING, protocol.PORTS, protocol.PASSED, protocol.WAITED, protocol.DONE)
        self._handles = {name: os.open(f"{folder}/{name}", flags, 0o644) for name in names}

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)

    def add(self, name: str, text: str) -> None:
        """Append to a file; does nothing if the file is long or the script has filled the disk."""
        with contextlib.suppress(OSError):
            if os.fstat(self._handles[name]).st_size < _SHOWN_BYTES:
                os.write(self._handles[name], text.encode("utf-8", "surrogateescape"))

    def pass_s(self, seconds: float) -> None:
        """Publish the total time slept, at once, for programs that read it while they run."""
        with contextlib.suppress(OSError):
            os.pwrite(self._handles[protocol.PASSED], f"{int(seconds):<{_PASSED_BYTES}}\n".encode("ascii"), 0)


class Channel:
    """The warden's ends of the channel.

    Args:
        folder: where the channel is created; must not exist.
        most: number of records above which the channel counts as flooded.
    """

    def __init__(self, folder: str, most: int) -> None:
        os.mkdir(folder, 0o755)
        self.shown = Shown(folder)
        self._listener = _listening(folder)
        self._notes = _fifo(f"{folder}/{protocol.NOTES}", 0o622)
        self._noted = _fifo(f"{folder}/{protocol.NOTED}", 0o644)
        self._most, self._count, self._note_bytes = most, 0, 0
        self._line = b""
        self._peers: dict[int, _Peer] = {}
        self._staying: dict[int, _Peer] = {}
        self._admitted: queue.SimpleQueue[tuple[int, socket.socket]] = queue.SimpleQueue()
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        for handle in (self._listener.fileno(), self._notes, self._woken):
            self._poll.register(handle, select.POLLIN)

    def _has_room(self) -> bool:
        return len(self._peers) + len(self._staying) + self._admitted.qsize() < _AT_ONCE and not self.flooded

    def close(self) -> None:
        """Close everything; a process that still waits for an answer never gets one."""
        for peer in (*self._peers.values(), *self._staying.values()):
            peer.connection.close()
        self._listener.close()
        self.shown.close()
        for handle in (self._notes, self._noted, self._woken, self._wake):
            os.close(handle)

    @property
    def flooded(self) -> bool:
        """Whether more arrived than any start script has to say."""
        return self._count > self._most or self._note_bytes > _NOTES_BYTES

    def admit(self, pid: int, connection: socket.socket) -> None:
        """Take our end of a connection whose other end a process was given; called from another thread.

        Waits while there are too many connections, as connect(2) does.

        Raises:
            ConnectionRefusedError: there were too many for too long.
        """
        until = time.monotonic() + _ROOM_S
        while not self._has_room() and not self.flooded and time.monotonic() < until:
            time.sleep(_ROOM_S / 100)
        if not self._has_room():
            raise ConnectionRefusedError(111, "too many records")
        self._admitted.put((pid, connection))
        os.write(self._wake, b"w")

    def wait(self, seconds: float) -> tuple[list[Message], list[list[str]]]:
        """Wait for records and notes; the notes include all that were written before the records."""
        now = time.monotonic()
        for peer in [peer for peer in self._peers.values() if peer.until < now]:
            self._forget(peer)
        self._poll.modify(self._listener, select.POLLIN if self._has_room() else 0)
        messages: list[Message] = []
        notes: list[list[str]] = []
        for handle, _ in self._poll.poll(seconds * 1000):
            if handle == self._notes:
                notes += self._read_notes()
            elif handle == self._listener.fileno():
                self._accept()
            elif handle == self._woken:
                self._take_admitted()
            elif handle in self._peers:
                messages += self._read(self._peers[handle])
            elif handle in self._staying:
                self._forget(self._staying[handle])  # the server has ended: it sends nothing after its record
        if messages:
            notes += self._read_notes()
        return messages, notes

    def take(self, message: Message) -> None:
        """Let the sender continue, and close the connection."""
        self._answer(message.connection)
        message.connection.close()

    def keep(self, message: Message) -> None:
        """Let the sender continue, and watch whether its connection stays open."""
        peer = _Peer(message.pid, message.connection, 0.0)
        self._staying[message.connection.fileno()] = peer
        self._poll.register(message.connection, select.POLLIN)
        self._answer(message.connection)

    def staying(self) -> set[int]:
        """The processes whose connection is still open."""
        return {peer.pid for peer in self._staying.values()}

    def answer_note(self) -> None:
        """Let the process that waits for an answer to its note continue."""
        try:
            os.write(self._noted, b"\n")
        except BlockingIOError:
            return  # nobody reads

    def _answer(self, connection: socket.socket) -> None:
        try:
            connection.send(_TAKEN)
        except OSError:
            return  # the process has ended, which its connection shows

    def _accept(self) -> None:
        try:
            while self._has_room():
                connection, _ = self._listener.accept()
                credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                self._begin(struct.unpack("iII", credentials)[0], connection)
        except OSError:
            return

    def _take_admitted(self) -> None:
        os.read(self._woken, 4096)
        while not self._admitted.empty():
            self._begin(*self._admitted.get())

    def _begin(self, pid: int, connection: socket.socket) -> None:
        self._count += 1
        connection.setblocking(False)
        self._peers[connection.fileno()] = _Peer(pid, connection, time.monotonic() + _HALF_SENT_S)
        self._poll.register(connection, select.POLLIN)

    def _read(self, peer: _Peer) -> Iterator[Message]:
        """Yield the record of a process once it is complete. File descriptors sent along are never accepted."""
        wanted = _LENGTH_BYTES
        if len(peer.data) >= _LENGTH_BYTES:
            wanted += int.from_bytes(peer.data[:_LENGTH_BYTES], "big")
        try:
            more = peer.connection.recv(min(wanted - len(peer.data), _CHUNK_BYTES))
        except OSError:
            more = b""
        peer.data += more
        length = int.from_bytes(peer.data[:_LENGTH_BYTES], "big") if len(peer.data) >= _LENGTH_BYTES else 1
        if not more or not 0 < length <= protocol.RECORD_BYTES:
            self._forget(peer)
        elif len(peer.data) == _LENGTH_BYTES + length:
            self._poll.unregister(peer.connection)
            del self._peers[peer.connection.fileno()]
            parts = peer.data[_LENGTH_BYTES:].split(b"\0")[:-1]
            yield Message(peer.pid, tuple(_text(part) for part in parts), peer.connection)

    def _forget(self, peer: _Peer) -> None:
        handle = peer.connection.fileno()
        self._poll.unregister(handle)
        self._peers.pop(handle, None)
        self._staying.pop(handle, None)
        peer.connection.close()

    def _read_notes(self) -> list[list[str]]:
        """The complete lines in the FIFO; lines too long to be written atomically are dropped."""
        try:
            data = os.read(self._notes, _CHUNK_BYTES)
        except BlockingIOError:
            return []
        self._note_bytes += len(data)
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-_LINE_BYTES:]
        return [_text(line).split(protocol.BETWEEN) for line in lines if len(line) < _LINE_BYTES]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _listening(folder: str) -> socket.socket:
    """A socket in the folder that any process may connect to, bound through /proc because its path may be long."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{handle}/{protocol.RECORDER}")
    finally:
        os.close(handle)
    os.chmod(f"{folder}/{protocol.RECORDER}", 0o622)  # noqa: S103 - the script is another user
    listener.listen(_AT_ONCE)
    listener.setblocking(False)
    return listener


def _fifo(place: str, mode: int) -> int:
    """Open both ends of a new FIFO, so that opening it never blocks."""
    os.mkfifo(place)
    os.chmod(place, mode)
    return os.open(place, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
