"""Lists and reads a weights folder within limits, without following links out of it."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from healthcheck.errors import KitError, UsageError, reason_of
from healthcheck.text.messages import msg

MAX_ENTRIES = 100_000
MAX_SHOWN = 160


class Unreadable(KitError):  # noqa: N818 - names the state of the file
    """A file of the folder cannot be read; the message gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name in the folder.

    Attributes:
        name: path relative to the folder, with slashes.
        size_bytes: size of the file or of a link's target; 0 if it cannot be read.
        identity: device and inode, shared by hard links and links to one blob.
        problem: why the entry cannot be used as a file, "" if it can.
    """

    name: str
    size_bytes: int = 0
    identity: tuple[int, int] = (0, 0)
    problem: str = ""

    @property
    def at_top(self) -> bool:
        return "/" not in self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The listing of a weights folder.

    Attributes:
        path: absolute and resolved.
        entries: files and links, sorted by name, without .git.
        total_bytes: total size; a file with several names counts once, .git does not count.
        git_bytes: size of .git.
        unlisted: folders that could not be listed, with the reason.
        truncated: the folder has more than MAX_ENTRIES names.
    """

    path: Path
    entries: tuple[Entry, ...]
    total_bytes: int
    git_bytes: int
    unlisted: tuple[str, ...] = ()
    truncated: bool = False

    def entry(self, name: str) -> Entry | None:
        """The entry of that name, usable or not."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def has(self, name: str) -> bool:
        """Whether there is a usable file of that name."""
        return any(entry.name == name and not entry.problem for entry in self.entries)

    def has_folder(self, name: str) -> bool:
        """Whether there are files below a folder of that name."""
        return any(entry.name.startswith(f"{name}/") for entry in self.entries)

    def real_name(self, name: str) -> str:
        """The name with links resolved, "." for the folder itself; unchanged if they lead out of it."""
        if "\0" in name:
            return name
        real = os.path.relpath(os.path.realpath(self.path / name), self.path)
        return name if real.startswith("..") else real

    def read(self, name: str, limit: int) -> bytes:
        """Read a file of the folder.

        Raises:
            Unreadable: the file is missing, not regular, a link out of the folder, or longer than `limit`.
        """
        entry = self.entry(name)
        if entry is None:
            raise Unreadable(msg("is missing"))
        if entry.problem:
            raise Unreadable(entry.problem)
        if entry.size_bytes > limit:
            raise Unreadable(
                msg(
                    "has {size_bytes:,} bytes; of such a file at most {limit:,} are read",
                    size_bytes=entry.size_bytes,
                    limit=limit,
                )
            )
        return self.read_range(entry, 0, limit)

    def read_range(self, entry: Entry, start: int, length: int) -> bytes:
        """Read at most `length` bytes of a listed file from `start`.

        Raises:
            Unreadable: the file cannot be opened or read, or was replaced since the listing.
        """
        try:
            handle = os.open(self.path / entry.name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(handle, "rb", buffering=0) as file:
                found = os.fstat(handle)
                if (found.st_dev, found.st_ino) != entry.identity or not stat.S_ISREG(
                    found.st_mode
                ):
                    raise Unreadable(msg("was replaced while it was read"))
                file.seek(start)
                return b"".join(_chunks(file.read, min(length, entry.size_bytes - start)))
        except OSError as error:
            raise Unreadable(msg("cannot be read: {reason}", reason=reason_of(error))) from error


def _chunks(read: Callable[[int], bytes | None], length: int) -> Iterator[bytes]:
    while length > 0 and (chunk := read(length)):
        length -= len(chunk)
        yield chunk


def list_folder(path: Path) -> Folder:
    """List a weights folder.

    Raises:
        UsageError: the folder does not exist or cannot be listed.
    """
    try:
        root = path.expanduser().resolve(strict=True)
        if not root.is_dir():
            raise UsageError(
                msg(
                    "{path} is not a directory: pass the folder of the weights",
                    path=shown(str(path)),
                )
            )
        os.scandir(root).close()
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        why = msg(
            "cannot read the weights folder {path}: {reason}", path=shown(str(path)), reason=reason
        )
        raise UsageError(why) from error
    return _Listing(root).run()


class _Listing:
    """A breadth-first walk over a folder, with a limit on the number of names."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.allowed = _allowed_roots(root)
        self.sizes: dict[tuple[int, int], int] = {}
        self.git_sizes: dict[tuple[int, int], int] = {}
        self.entries: list[Entry] = []
        self.unlisted: list[str] = []
        self.seen = 0

    def run(self) -> Folder:
        self._walk()
        return Folder(
            path=Path(self.root),
            entries=tuple(sorted(self.entries, key=lambda entry: entry.name)),
            total_bytes=sum(self.sizes.values()),
            git_bytes=sum(self.git_sizes.values()),
            unlisted=tuple(self.unlisted),
            truncated=self.seen > MAX_ENTRIES,
        )

    def _walk(self) -> None:
        pending = [""]
        while pending and self.seen <= MAX_ENTRIES:
            folder = pending.pop(0)
            try:
                with os.scandir(os.path.join(self.root, folder)) as found:
                    for item in found:
                        self.seen += 1
                        if self.seen > MAX_ENTRIES:
                            return
                        name = f"{folder}/{item.name}".lstrip("/")
                        if item.is_dir(follow_symlinks=False):
                            pending.append(name)
                        else:
                            self._take(name, item)
            except OSError as error:
                self.unlisted.append(
                    msg("{folder}: {reason}", folder=shown(folder), reason=reason_of(error))
                )

    def _take(self, name: str, item: os.DirEntry[str]) -> None:
        entry = self._entry(name, item)
        if ".git" in name.split("/")[:-1]:
            self.git_sizes[entry.identity] = entry.size_bytes
            return
        self.entries.append(entry)
        if entry.identity != (0, 0):
            self.sizes[entry.identity] = entry.size_bytes

    def _entry(self, name: str, item: os.DirEntry[str]) -> Entry:
        try:
            problem = self._link_problem(item.path) if item.is_symlink() else ""
            if problem:
                return Entry(name=name, problem=problem)
            found = os.stat(item.path)
        except OSError as error:
            return Entry(name=name, problem=msg("cannot be read: {reason}", reason=error.strerror))
        if not stat.S_ISREG(found.st_mode):
            return Entry(name=name, problem=_what(found.st_mode))
        problem = (
            ""
            if os.access(item.path, os.R_OK)
            else msg("cannot be read: {reason}", reason="Permission denied")
        )
        return Entry(
            name=name,
            size_bytes=found.st_size,
            identity=(found.st_dev, found.st_ino),
            problem=problem,
        )

    def _link_problem(self, path: str) -> str:
        link, target = shown(os.readlink(path)), os.path.realpath(path)
        if not any(target == root or target.startswith(root + os.sep) for root in self.allowed):
            return msg(
                "is a link out of the weights folder, to {link}, and is not followed", link=link
            )
        try:
            os.stat(path)
        except OSError as error:
            return msg(
                "is a link to {link}, which leads nowhere ({reason})",
                link=link,
                reason=error.strerror,
            )
        return ""


def _allowed_roots(root: Path) -> tuple[str, ...]:
    """The folders that links may lead to: the weights folder, and the blobs of its download cache."""
    if root.parent.name == "snapshots":
        return (str(root), str(root.parent.parent / "blobs"))
    return (str(root),)


def _what(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return msg("is a link to a folder, and is not followed")
    return msg("is not a regular file (a pipe, a socket or a device)")


_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Lone surrogates, as JSON may have them; other surrogates represent a byte that is not UTF-8."""


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    """Make text from a file or a file name safe for a report: one line, without control characters."""
    text = (
        _NO_BYTE.sub("\ufffd", text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    )
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(
        char if unicodedata.category(char)[0] not in "CZ" or char == " " else f"\\x{ord(char):02x}"
        for char in cut
    )
