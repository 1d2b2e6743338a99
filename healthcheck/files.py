"""Reading what others wrote, with bounds, and writing so that no half-written file is ever seen."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from healthcheck.errors import UsageError

_TEMPORARY = re.compile(r"npu-adapter-tmp-(?P<space>\d{0,12})-(?P<pid>\d{1,9})-(?P<start>\d{1,20})-.*")


def prefix() -> str:
    """How the name of a temporary folder begins: with whose it is, so that `abandoned` can tell."""
    return f"npu-adapter-tmp-{_space()}-{os.getpid()}-{_start(os.getpid())}-"


def abandoned() -> tuple[str, ...]:
    """The temporary folders of processes that are no more: what a kit that was killed could not remove."""
    top, space = tempfile.gettempdir(), _space()
    with os.scandir(top) as entries:
        found = [(entry.name, _TEMPORARY.fullmatch(entry.name)) for entry in entries]
    ours = [(name, its) for name, its in found if its and its["space"] == space]
    return tuple(f"{top}/{name}" for name, its in ours if _start(int(its["pid"])) != int(its["start"]))


def _space() -> str:
    """The PID namespace: two containers may share a folder, and neither knows the other's processes."""
    try:
        return "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))
    except OSError:
        return ""


def _start(pid: int) -> int:
    """When a process started, in the kernel's ticks; 0 where there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[19])
    except (OSError, IndexError):
        return 0


def read_bounded(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Raises:
        UsageError: it is no regular file, cannot be read, or is longer.
    """
    try:
        if not path.is_file():
            raise UsageError(f"{path} is not a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > limit:
        raise UsageError(f"{path} is longer than the {limit} bytes that are read of such a file")
    return data


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside the target, flush to the disk, then rename over it; a device such as /dev/null is written to.

    Raises:
        OSError: it cannot be written; its `filename` is the target.
    """
    try:
        _write_atomically(path, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_atomically(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")  # no longer than a name may be
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
