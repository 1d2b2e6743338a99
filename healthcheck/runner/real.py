"""The machine that the kit runs on."""

from __future__ import annotations

import contextlib
import errno
import glob
import grp
import mmap
import os
import pwd
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from healthcheck.errors import reason_of
from healthcheck.runner.machine import (
    MAX_PATHS,
    NO_PROGRAM,
    OUTPUT_BYTES,
    Child,
    Entry,
    Interrupted,
    Output,
    ReadSpeed,
    Space,
)
from healthcheck.system import processes, programs
from healthcheck.system.processes import Listener
from healthcheck.text.messages import msg

READ_S = 0.5
READ_BYTES = 512 * 2**20
WRITTEN_BYTES = 64 * 2**20
BLOCK_BYTES = 4 * 2**20
_SOURCE_THEN_RUN = msg('while [ "$1" != -- ]; do source "$1" >/dev/null 2>&1; shift; done; shift; exec "$@"')


class RealMachine:
    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        return _run(command, timeout_s, folder="/", environment={})

    def python(
        self, child: Child, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        script = str(Path(__file__).parent / "children" / f"{child.value}.py")
        command = (_interpreter(), script, *arguments)
        if sourced:
            command = ("bash", "-c", _SOURCE_THEN_RUN, "bash", *sourced, "--", *command)
        # The programs import from their folder. The driver writes its logs into the working directory.
        environment = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": ""}
        with tempfile.TemporaryDirectory(prefix="npu-adapter-") as folder:
            return _run(command, timeout_s, folder=folder, environment=environment)

    def read(self, path: str) -> str | None:
        try:
            with open(path, "rb", opener=_without_waiting) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                return file.read(OUTPUT_BYTES).decode("utf-8", "replace")
        except OSError:
            return None

    def paths(self, pattern: str) -> tuple[Entry, ...]:
        found = []
        for path, _ in zip(glob.iglob(pattern), range(MAX_PATHS), strict=False):
            with contextlib.suppress(OSError):
                found.append(_entry(path))
        return tuple(sorted(found, key=lambda entry: entry.path))

    def space(self, path: str) -> Space | None:
        try:
            found = os.statvfs(path)
        except OSError:
            return None
        return Space(total_bytes=found.f_blocks * found.f_frsize, free_bytes=found.f_bavail * found.f_frsize)

    def size(self, folder: str) -> int | None:
        return sum(size for size, _ in _sizes(folder)) if os.access(folder, os.R_OK | os.X_OK) else None

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
                return _speed(
                    file.name,
                    of=msg("a new file of {written_bytes} MiB in {folder}", WRITTEN_BYTES // 2**20, folder),
                )
        except OSError:
            return None

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        return processes.holders(port)


def _without_waiting(path: str, flags: int) -> int:
    """Open a pipe without waiting for a writer, and no directory: `open` would refuse its descriptor, unclosed."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return descriptor


def _interpreter() -> str:
    """The Python of the `vllm` on PATH, by its first line; else the python3 on PATH; else this one."""
    vllm = programs.find("vllm")
    if vllm:
        with contextlib.suppress(OSError), open(vllm, "rb") as file:
            words = file.readline(512).decode("utf-8", "replace").removeprefix("#!").split()
            if words and "python" in Path(words[0]).name and os.access(words[0], os.X_OK):
                return words[0]
    return programs.find("python3") or programs.python()


def _run(command: tuple[str, ...], timeout_s: float, *, folder: str, environment: Mapping[str, str]) -> Output:
    try:
        process = processes.started(
            (programs.find_or_name(command[0]), *command[1:]),
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", **environment},
        )
    except FileNotFoundError:
        return Output(status=None, trouble=NO_PROGRAM)
    except OSError as error:
        return Output(status=None, trouble=msg("cannot be run: {reason}", reason_of(error)))
    assert process.stdout
    assert process.stderr
    kept: tuple[bytearray, bytearray] = (bytearray(), bytearray())
    readers = [
        threading.Thread(target=_drain, args=(stream, into), daemon=True)
        for stream, into in zip((process.stdout, process.stderr), kept, strict=True)
    ]
    try:
        for reader in readers:
            reader.start()
    finally:  # a remaining process would keep a device
        try:
            ended = processes.wait_or_kill(process, timeout_s)
        except KeyboardInterrupt as stop:
            raise Interrupted(_output(readers, kept, status=None, trouble=msg("interrupted"))) from stop
    if not ended:
        return _output(readers, kept, status=None, trouble=msg("no end within {timeout_s:g} s", timeout_s))
    return _output(readers, kept, status=process.returncode)


def _output(
    readers: list[threading.Thread], kept: tuple[bytearray, bytearray], *, status: int | None, trouble: str = ""
) -> Output:
    for reader in readers:
        reader.join(2)
    stdout, stderr = (bytes(part).decode("utf-8", "replace") for part in kept)
    return Output(status=status, stdout=stdout, stderr=stderr, trouble=trouble)


def _drain(stream: IO[bytes], into: bytearray) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        while block := os.read(stream.fileno(), 65536):
            into.extend(block[: max(0, OUTPUT_BYTES - len(into))])


def _entry(path: str) -> Entry:
    found = os.stat(path)
    mode = found.st_mode
    return Entry(
        path=path,
        mode=stat.S_IMODE(mode),
        owner=_name(lambda: pwd.getpwuid(found.st_uid).pw_name, found.st_uid),
        group=_name(lambda: grp.getgrgid(found.st_gid).gr_name, found.st_gid),
        readable=os.access(path, os.R_OK),
        writable=os.access(path, os.W_OK),
        modified_s=found.st_mtime,
        target=os.path.realpath(path) if os.path.islink(path) else "",
    )


def _name(look_up: Callable[[], str], number: int) -> str:
    try:
        return look_up()
    except KeyError:
        return str(number)


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
