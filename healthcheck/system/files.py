"""Bounded reading of untrusted files, and atomic writing."""

from __future__ import annotations

import io
import os
import re
import stat
import tempfile
from pathlib import Path

from healthcheck.errors import UsageError, reason_of
from healthcheck.text.messages import msg

DATA = Path(__file__).resolve().parents[1] / "data"
"""The kit's own tables and catalogues."""
SHARED = "/tmp"  # noqa: S108 - where every user may make a folder
_TEMPORARY = re.compile(
    r"npu-adapter-tmp-(?P<space>\d{0,12})-(?P<pid>\d{1,9})-(?P<start>\d{1,20})-.*"
)


def prefix() -> str:
    """The prefix of a temporary folder's name; it identifies the process, for `abandoned`."""
    return f"npu-adapter-tmp-{_space()}-{os.getpid()}-{_start(os.getpid())}-"


def abandoned() -> tuple[str, ...]:
    """The temporary folders of processes that have ended; a killed kit leaves them behind."""
    space = _space()
    names = [(top, name) for top in {tempfile.gettempdir(), SHARED} for name in os.listdir(top)]
    found = [(f"{top}/{name}", _TEMPORARY.fullmatch(name)) for top, name in names]
    ours = [(place, its) for place, its in found if its and its["space"] == space]
    return tuple(place for place, its in ours if _start(int(its["pid"])) != int(its["start"]))


def _space() -> str:
    """The PID namespace: containers that share a folder do not see each other's processes."""
    try:
        return "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))
    except OSError:
        return ""


def _start(pid: int) -> int:
    """When a process started, in the kernel's ticks; 0 if it does not exist."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[19])
    except (OSError, IndexError):
        return 0


def remove_tree(folder: str) -> None:
    """Remove a folder, even if its permissions deny it or it is very deep; links are not followed.

    Whatever cannot be removed stays.
    """
    try:
        above, name = os.path.split(folder.rstrip("/"))
        parent = os.open(above or "/", _FOLDER)
    except OSError:
        return
    try:
        remove_in(parent, name)
    finally:
        os.close(parent)


def remove_in(parent: int, name: str) -> None:
    """Remove a file or a folder, as `remove_tree` does, from the folder of an open handle."""
    for _ in range(_MOST_ROUNDS):
        if not _remove(parent, name, parent, _DEPTH):
            return


def _remove(parent: int, name: str, top: int, depth: int) -> bool:
    """Remove a name in a folder; returns whether to repeat, because trees that were too deep moved to the top."""
    more = False
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
            return False
        _take_rights(parent, name)
        handle = os.open(name, _FOLDER, dir_fd=parent)
    except OSError:
        return False
    try:
        for number, inner in enumerate(os.listdir(handle)):
            if depth:
                more |= _remove(handle, inner, handle if depth == _DEPTH else top, depth - 1)
            else:
                more |= _move(
                    handle, inner, top, f".{os.getpid()}-{id(handle)}-{number}-{inner[:20]}"
                )
    except OSError:
        return False
    finally:
        os.close(handle)
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError:
        return more
    return more


def _move(parent: int, name: str, top: int, instead: str) -> bool:
    try:
        os.rename(name, instead, src_dir_fd=parent, dst_dir_fd=top)
    except OSError:
        return False
    return True


def _take_rights(parent: int, name: str) -> None:
    """Give the owner back all permissions on a folder."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)
    finally:
        os.close(handle)


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEPTH, _MOST_ROUNDS = 100, 200


def read_bounded(path: Path, limit: int) -> bytes:
    """The contents of a regular file of at most `limit` bytes.

    Raises:
        UsageError: the path is not a regular file, cannot be read, or is longer.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise UsageError(msg("{path} is not a file", path=path))
        with open(handle, "rb") as file:
            data = file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(msg("{path} is not a file", path=path)) from error
    except OSError as error:
        raise UsageError(
            msg("cannot read {path}: {reason}", path=path, reason=reason_of(error))
        ) from error
    if len(data) > limit:
        raise UsageError(
            msg(
                "{path} is longer than the {limit} bytes that are read of such a file",
                path=path,
                limit=limit,
            )
        )
    return data


def read_text(path: Path, limit: int) -> str:
    """The UTF-8 text of a regular file of at most `limit` bytes, without a byte order mark.

    Raises:
        UsageError: as for `read_bounded`, or the file is not UTF-8.
    """
    try:
        return read_bounded(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            msg(
                "{path} is not UTF-8 text ({reason} at byte {start})",
                path=path,
                reason=error.reason,
                start=error.start,
            )
        ) from error


class Sparing(io.FileIO):
    """A regular file for a reader that trusts the sizes in the file: no read returns more than the limit.

    Raises:
        UsageError: the path is not a regular file or cannot be opened; from `read`, if more is left than allowed.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self._limit = limit
        try:
            super().__init__(
                path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY)
            )
        except OSError as error:
            raise UsageError(
                msg("cannot read {path}: {reason}", path=path, reason=reason_of(error))
            ) from error
        if not stat.S_ISREG(os.fstat(self.fileno()).st_mode):
            self.close()
            raise UsageError(msg("{path} is not a file", path=path))

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._limit + 1 if size is None or not 0 <= size <= self._limit else size
        data = super().read(wanted) or b""
        if len(data) > self._limit:
            raise UsageError(
                msg(
                    "{name} says that a part of it has more than {limit} bytes",
                    name=self.name,
                    limit=self._limit,
                )
            )
        return data


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file beside the target, flush it and rename it over the target; a device is written directly.

    Raises:
        OSError: the target cannot be written; its `filename` is the target.
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
    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name[:40]}."
    )  # no longer than a name may be
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
