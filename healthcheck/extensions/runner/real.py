"""The machine that the kit runs on, with its disks and ports."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from healthcheck.extensions.runner.whole_machine import ReadSpeed, Space
from healthcheck.machine.interface import MAX_PATHS
from healthcheck.machine.real import RealMachine
from healthcheck.system import processes
from healthcheck.system.processes import Listener
from healthcheck.text.messages import msg

READ_S = 0.5
READ_BYTES = 512 * 2**20
WRITTEN_BYTES = 64 * 2**20
BLOCK_BYTES = 4 * 2**20


class RealWholeMachine(RealMachine):
    def space(self, path: str) -> Space | None:
        try:
            found = os.statvfs(path)
        except OSError:
            return None
        return Space(
            total_bytes=found.f_blocks * found.f_frsize, free_bytes=found.f_bavail * found.f_frsize
        )

    def read_speed(self, folder: str) -> ReadSpeed | None:
        largest = _largest_file(folder)
        try:
            if largest:
                return _speed(str(largest), of=str(largest))
            with tempfile.NamedTemporaryFile(dir=folder) as file:
                for _ in range(WRITTEN_BYTES // BLOCK_BYTES):
                    file.write(os.urandom(BLOCK_BYTES))
                file.flush()
                os.fsync(file.fileno())
                of = msg(
                    "a new file of {written_bytes} MiB in {folder}",
                    written_bytes=WRITTEN_BYTES // 2**20,
                    folder=folder,
                )
                return _speed(file.name, of=of)
        except OSError:
            return None

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        return processes.holders(port)


def _largest_file(folder: str) -> Path | None:
    """The largest regular file in a folder, if it is large enough to measure."""
    found = sorted(_sizes(folder), reverse=True)[:1]
    return Path(found[0][1]) if found and found[0][0] >= WRITTEN_BYTES else None


def _sizes(folder: str) -> Iterator[tuple[int, str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry, _ in zip(entries, range(MAX_PATHS), strict=False):
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=True):
                    yield entry.stat().st_size, entry.path


def _speed(path: str, *, of: str) -> ReadSpeed:
    """Read again if the disk or a lack of CPU time delayed the first reading; returns the faster one."""
    first = _timed_reading(path, of=of)
    if first.seconds < 2 * READ_S:
        return first
    return max(first, _timed_reading(path, of=of), key=lambda reading: reading.bytes_per_s)


def _timed_reading(path: str, *, of: str) -> ReadSpeed:
    """Read for at most READ_S past the page cache, so that the host's cache does not change.

    File systems without such a way are read through the cache.
    """
    with contextlib.suppress(OSError):
        return _timed(os.open(path, os.O_RDONLY | os.O_DIRECT), of=of, cached=False)
    return _timed(os.open(path, os.O_RDONLY), of=of, cached=True)


def _timed(descriptor: int, *, of: str, cached: bool) -> ReadSpeed:
    """Measure and close."""
    try:
        with mmap.mmap(-1, BLOCK_BYTES) as buffer:  # its address is aligned, as O_DIRECT requires
            read, began = 0, time.monotonic()
            while read < READ_BYTES and time.monotonic() - began < READ_S:
                got = os.readv(descriptor, [buffer])
                read += got
                if got < BLOCK_BYTES:
                    break
        return ReadSpeed(read_bytes=read, seconds=time.monotonic() - began, of=of, cached=cached)
    finally:
        os.close(descriptor)
