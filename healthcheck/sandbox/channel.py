"""How stubs reach the warden: a FIFO for notes and records, a file that servers lock, and files they can only read.

All of them lie in one folder, made before the script starts. The warden holds them open and gives up the right to
write there; the script never has it. Bytes, records and waits are all bounded.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
from collections.abc import Iterator

from healthcheck.sandbox import protocol

_LINE_BYTES = 4096
"""Longest note: shorter lines are written atomically (PIPE_BUF)."""
_CHUNK_BYTES = 1 << 16
_NOTES_BYTES = 8 * 1024**2
_HALF_SENT = 128
"""Records of which a part is missing: more than the processes of a dry run, each of which sends one at a time."""
_PASSED_BYTES = 24
_SHOWN_BYTES = 1024**2
_LOCK = "hhqqi4x"
"""struct flock: the kind, where counting starts, first byte, bytes, and the process that the kernel names."""


class Shown:
    """The files that the script may read, opened for writing when they are created."""

    def __init__(self, folder: str) -> None:
        names = (protocol.SERVING, protocol.SERVED, protocol.PASSED, protocol.WAITED, protocol.DONE)
        self._handles = {name: _new_file(f"{folder}/{name}") for name in names}

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
            os.pwrite(
                self._handles[protocol.PASSED],
                f"{int(seconds):<{_PASSED_BYTES}}\n".encode("ascii"),
                0,
            )


class Channel:
    """The warden's ends of the channel.

    Args:
        folder: where the channel is created; must not exist.
        most: number of records above which the channel counts as flooded.

    Raises:
        OSError: the file system is full, or has no locks.
    """

    def __init__(self, folder: str, most: int) -> None:
        os.mkdir(folder, 0o755)
        self.shown = Shown(folder)
        self._held = _new_file(f"{folder}/{protocol.HELD}")
        self.is_held(os.getpid())  # fails now where the file system has no locks
        self._notes = _fifo(f"{folder}/{protocol.NOTES}", 0o622)
        self._noted = _fifo(f"{folder}/{protocol.NOTED}", 0o644)
        self._most, self._count, self._note_bytes = most, 0, 0
        self._line = b""
        self._half: dict[str, str] = {}
        self._poll = select.poll()
        self._poll.register(self._notes, select.POLLIN)

    def close(self) -> None:
        """Close everything; a process that still waits for an answer never gets one."""
        self.shown.close()
        for handle in (self._held, self._notes, self._noted):
            os.close(handle)

    @property
    def flooded(self) -> bool:
        """Whether more arrived than any start script has to say."""
        return self._count > self._most or self._note_bytes > _NOTES_BYTES

    def wait(self, seconds: float) -> Iterator[list[str]]:
        """Wait for notes. A whole record is one, too: TOLD, process, kind, working directory, words."""
        if not self._poll.poll(seconds * 1000):
            return
        for words in self._read_notes():
            if words[0] != protocol.TOLD:
                yield words
            elif len(words) == 4:
                yield from self._told(*words[1:])

    def _told(self, pid: str, more: str, part: str) -> Iterator[list[str]]:
        """Yield a record once its last part is there."""
        told = self._half.pop(pid, "") + part
        if more and len(self._half) < _HALF_SENT and len(told) <= 2 * protocol.RECORD_BYTES:
            self._half[pid] = told
        if more:
            return
        self._count += 1
        with contextlib.suppress(ValueError):
            yield [protocol.TOLD, pid, *map(_text, bytes.fromhex(told).split(b"\0")[:-1])]

    def answer_note(self, answer: bytes = b"\n") -> None:
        """Let the process that waits for an answer to its note continue."""
        with contextlib.suppress(BlockingIOError):  # nobody reads
            os.write(self._noted, answer)

    def is_held(self, pid: int) -> bool:
        """Whether the process holds the lock of a server; it loses it with its end, or as another program."""
        asked = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, pid, 1, 0)
        kind, _, _, _, holder = struct.unpack(_LOCK, fcntl.fcntl(self._held, fcntl.F_GETLK, asked))
        return kind == fcntl.F_RDLCK and bool(holder == pid)

    def _read_notes(self) -> Iterator[list[str]]:
        """The complete lines in the FIFO; lines too long to be written atomically are dropped."""
        try:
            data = os.read(self._notes, _CHUNK_BYTES)
        except BlockingIOError:
            return
        self._note_bytes += len(data)
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-_LINE_BYTES:]
        for line in lines:
            if len(line) < _LINE_BYTES:
                yield _text(line).split(protocol.BETWEEN)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _new_file(place: str) -> int:
    return os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def _fifo(place: str, mode: int) -> int:
    """Open both ends of a new FIFO, so that opening it never blocks."""
    os.mkfifo(place)
    os.chmod(place, mode)
    return os.open(place, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
