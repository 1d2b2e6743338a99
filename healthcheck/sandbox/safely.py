"""Reads and changes files in untrusted folders: nothing blocks, and everything is bounded.

A folder is named by a path whose last component may not be a link; links before it are followed. Below the folder
no link is followed: files are opened relative to descriptors. The exceptions are `read_through_links`,
`sizes_through_links` and `is_readable_by_all`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LARGE_FILE_BYTES = 16 * 1024**2
_HEAD_BYTES = 1024**2
_MOST_NAMES = 100_000
_SHARED_DEPTH = 20
MAX_DEPTH = 200
"""Nested folders: a submission has a dozen levels, and a path has at most 4096 bytes."""


class TooMuch(Exception):  # noqa: N818 - says what it is
    """A tree has more than may be copied; the text says what."""


def read_through_links(path: str, limit: int) -> bytes | None:
    """The first bytes of a regular file, links followed; only for files that the sandboxed program may read."""
    try:
        handle = os.open(path, _LOOK & ~os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    data = b""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        while len(data) < limit and (more := os.read(handle, limit - len(data))):
            data += more
    except OSError:
        return b""
    finally:
        os.close(handle)
    return data


def sizes_through_links(folder: str, most: int) -> dict[str, int]:
    """The sizes of at most `most` regular files right in a folder, links followed. Opens only the folder.

    Only for a caller without more rights than the sandboxed program.
    """
    found = {}
    for name in sorted(names(folder, _MOST_NAMES))[:most]:
        try:
            status = os.stat(f"{folder}/{name}")
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found[name] = status.st_size
    return found


def names(folder: str, most: int) -> list[str]:
    """At most `most` names in a folder; none if it is not a folder."""
    with suppress(OSError), open_folder(folder) as handle:
        return _listed(handle, most)
    return []


def _listed(handle: int, most: int) -> list[str]:
    with os.scandir(handle) as entries:
        return [entry.name for entry, _ in zip(entries, range(most), strict=False)]


@contextmanager
def open_folder(folder: str, above: int | None = None) -> Iterator[int]:
    """Open a folder, by its path or by its name in the folder `above`.

    Raises:
        OSError: it does not exist or is a link.
    """
    handle = os.open(folder, _FOLDER, dir_fd=above)
    try:
        yield handle
    finally:
        os.close(handle)


def for_each(folder: str, act: Callable[[int, str, os.stat_result], None]) -> None:
    """Call `act` with (descriptor of the folder, name, stat) for everything below a folder, innermost first."""
    with open_folder(folder) as handle:
        _for_each(handle, act, MAX_DEPTH)


def _for_each(handle: int, act: Callable[[int, str, os.stat_result], None], depth: int) -> None:
    for name in os.listdir(handle):
        try:
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(found.st_mode) and depth:
            with open_folder(name, handle) as inner:
                _for_each(inner, act, depth - 1)
        act(handle, name, found)


def owned(
    owner: int, folder: str, above: int | None = None, depth: int = _SHARED_DEPTH
) -> Iterator[tuple[int, str, os.stat_result]]:
    """What belongs to a user in a world-writable folder and in such folders inside.

    Yields a handle of its folder, which others may replace in the meantime, the name in it and its state.
    """
    with suppress(OSError), open_folder(folder, above) as handle:
        for name in _listed(handle, _MOST_NAMES):
            try:
                found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except OSError:  # files appear and vanish
                continue
            if found.st_uid == owner:
                yield handle, name, found
            elif stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IWOTH and depth:
                yield from owned(owner, name, handle, depth - 1)


def edit(folder: int, name: str, change: Callable[[bytes], bytes]) -> None:
    """Replace a regular file by one with its mode and the changed content."""
    handle = os.open(name, _LOOK, dir_fd=folder)
    with open(handle, "rb", buffering=0) as file:
        found, before = os.fstat(handle), file.readall() or b""
    after = change(before)
    if after != before:
        os.unlink(name, dir_fd=folder)
        with open(os.open(name, _NEW, 0o600, dir_fd=folder), "wb") as copy:
            copy.write(after)
            os.fchmod(copy.fileno(), stat.S_IMODE(found.st_mode))


def chown_tree(folder: str, owner: int) -> None:
    """Change the owner of a tree; links are changed themselves, never their targets."""
    for_each(folder, lambda handle, name, _: chown_one(name, owner, handle))
    chown_one(folder, owner)


def chown_one(path: str, owner: int, folder: int | None = None) -> None:
    os.chown(path, owner, owner, dir_fd=folder, follow_symlinks=False)


def make_world_readable(folder: str) -> None:
    """Let every user read the files and folders of a tree."""

    def act(handle: int, name: str, found: os.stat_result) -> None:
        mode = 0o755 if stat.S_ISDIR(found.st_mode) else 0o644
        if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
            inner = os.open(name, _LOOK, dir_fd=handle)
            try:
                os.fchmod(inner, mode)
            finally:
                os.close(inner)

    for_each(folder, act)
    with open_folder(folder) as handle:
        os.fchmod(handle, 0o755)


def is_readable_by_all(folder: str) -> bool:
    """Whether every user may read the folder that a path leads to, links followed, and the files right in it."""
    with open_folder(os.path.realpath(folder)) as handle:
        if os.fstat(handle).st_mode & 0o5 != 0o5:
            return False
        found = (os.stat(name, dir_fd=handle, follow_symlinks=False) for name in os.listdir(handle))
        return all(stat.S_ISLNK(each.st_mode) or each.st_mode & stat.S_IROTH for each in found)


class Copy:
    """Copies trees: links as links, large files as sparse files of the same size, special files not at all.

    `measure` counts the files and bytes of all trees together and enforces the limits. `tree` counts nothing, so
    measure a tree first.
    """

    def __init__(self, most_files: int, most_bytes: int) -> None:
        self._most_files, self._most_bytes = most_files, most_bytes
        self.files = self.bytes = 0

    def measure(self, source: str) -> None:
        """Count a tree without copying it.

        Raises:
            TooMuch: it exceeds a limit.
            OSError: it cannot be read.
        """
        with open_folder(source) as handle:
            self._measure(handle, MAX_DEPTH)

    def _measure(self, handle: int, depth: int) -> None:
        with os.scandir(handle) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                self._count(found)
                if stat.S_ISDIR(found.st_mode):
                    _refuse_below(depth)
                    with open_folder(entry.name, handle) as inner:
                        self._measure(inner, depth - 1)

    def _count(self, found: os.stat_result) -> None:
        self.files += 1
        if stat.S_ISREG(found.st_mode):
            self.bytes += found.st_size if found.st_size <= _LARGE_FILE_BYTES else _HEAD_BYTES
        if self.files > self._most_files:
            raise TooMuch(f"more than {self._most_files:,} files and folders")
        if self.bytes > self._most_bytes:
            raise TooMuch(
                f"more than {self._most_bytes // 1024**2} MiB in files that are not large ones"
            )

    def tree(self, source: str, target: str) -> None:
        """Copy a folder to an empty folder or to a path that does not exist yet.

        Raises:
            TooMuch: its folders are nested too deeply.
            OSError: it cannot be read or written.
        """
        os.makedirs(target, exist_ok=True)
        with open_folder(source) as reader, open_folder(target) as writer:
            self._tree(reader, writer, MAX_DEPTH)

    def _tree(self, reader: int, writer: int, depth: int) -> None:
        for name in os.listdir(reader):
            found = os.stat(name, dir_fd=reader, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                os.symlink(os.readlink(name, dir_fd=reader), name, dir_fd=writer)
            elif stat.S_ISDIR(found.st_mode):
                _refuse_below(depth)
                os.mkdir(name, 0o755, dir_fd=writer)
                with open_folder(name, reader) as inner, open_folder(name, writer) as copy:
                    self._tree(inner, copy, depth - 1)
            elif stat.S_ISREG(found.st_mode):
                _file(reader, writer, name)


def _refuse_below(depth: int) -> None:
    if not depth:
        raise TooMuch(f"folders more than {MAX_DEPTH} deep")


def _file(reader: int, writer: int, name: str) -> None:
    source = os.open(name, _LOOK, dir_fd=reader)
    with open(source, "rb", buffering=0) as file:
        found = os.fstat(source)
        if not stat.S_ISREG(found.st_mode):
            return
        with open(os.open(name, _NEW, 0o600, dir_fd=writer), "wb", buffering=0) as copy:
            wanted = found.st_size if found.st_size <= _LARGE_FILE_BYTES else _HEAD_BYTES
            while wanted > 0 and (data := file.read(min(wanted, 1 << 20))):
                copy.write(data)
                wanted -= len(data)
            copy.truncate(found.st_size)
            os.fchmod(copy.fileno(), stat.S_IMODE(found.st_mode) & 0o777 | stat.S_IRUSR)
