"""The machine that the kit runs on."""

from __future__ import annotations

import contextlib
import errno
import glob
import grp
import os
import pwd
import stat
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from healthcheck.errors import reason_of
from healthcheck.machine.interface import (
    MAX_PATHS,
    NO_PROGRAM,
    OUTPUT_BYTES,
    Entry,
    Interrupted,
    Output,
)
from healthcheck.system import processes, programs
from healthcheck.text.messages import msg

_SOURCE_THEN_RUN = (
    'while [ "$1" != -- ]; do source "$1" >/dev/null 2>&1; shift; done; shift; exec "$@"'
)


class RealMachine:
    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        return _run(command, timeout_s, folder="/", environment={})

    def python(
        self, program: Path, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        command = (_interpreter(), str(program), *arguments)
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

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)


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


def _run(
    command: tuple[str, ...], timeout_s: float, *, folder: str, environment: Mapping[str, str]
) -> Output:
    try:
        words = (programs.find_or_name(command[0]), *command[1:])
        variables = {**os.environ, "LC_ALL": "C", **environment}
        process = processes.started(words, cwd=folder, env=variables)
    except FileNotFoundError:
        return Output(status=None, trouble=NO_PROGRAM)
    except OSError as error:
        return Output(status=None, trouble=msg("cannot be run: {reason}", reason=reason_of(error)))
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
            raise Interrupted(
                _output(readers, kept, status=None, trouble=msg("interrupted"))
            ) from stop
    if not ended:
        return _output(
            readers,
            kept,
            status=None,
            trouble=msg("no end within {timeout_s:g} s", timeout_s=timeout_s),
        )
    return _output(readers, kept, status=process.returncode)


def _output(
    readers: list[threading.Thread],
    kept: tuple[bytearray, bytearray],
    *,
    status: int | None,
    trouble: str = "",
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
