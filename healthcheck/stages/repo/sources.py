"""Reads the files of a submission from where they are: a plain folder, or a commit."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from healthcheck.stages.repo import git, history, tree
from healthcheck.stages.repo.history import History
from healthcheck.stages.repo.records import MAX_LISTED, MAX_TEXT_BYTES, Text
from healthcheck.stages.repo.tree import read_inside

HAND_WRITTEN_ENDINGS = (
    ".sh", ".py", ".env", ".toml", ".yaml", ".yml", ".json", ".cfg", ".ini",
)  # fmt: skip
"""The names of the scripts and settings files that people write by hand end like this."""
_MAX_LINKS = 10


class Source(Protocol):
    """The files of a submission.

    Attributes:
        home: the submission's own folder.
        root: the folder that `provide` puts files in.
        commit: the hash of the commit, "" without one.
        changes: how the working copy differs from the commit.
        paths: the files and links, sorted.
    """

    @property
    def home(self) -> Path: ...
    @property
    def root(self) -> Path: ...
    @property
    def commit(self) -> str: ...
    @property
    def changes(self) -> git.Changes: ...
    @property
    def paths(self) -> tuple[str, ...]: ...

    def size_bytes(self, path: str) -> int:
        """The size of the submission's file at a path."""

    def past_secrets(self, hand_written: Sequence[Text], /) -> History:
        """Secrets in earlier versions of the hand-written files, given the present ones."""

    def provide_all(self, paths: Sequence[str]) -> None:
        """Make the submission's files at these paths readable below `root`, without the targets of links."""

    def provide(self, path: str) -> None:
        """Make the submission's file at a path, or the target of the link there, readable below `root`."""


def read(source: Source, path: str) -> bytes | None:
    """The first MAX_TEXT_BYTES + 1 bytes of a file; None if the submission has no such file."""
    source.provide(path)
    return read_inside(source.root, path, MAX_TEXT_BYTES + 1)


class FolderSource:
    """The files of a plain folder, which are readable where they are."""

    commit = ""
    changes = git.Changes(changed=(), untracked=(), ignored=())

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.root = folder
        self.paths = tree.paths(folder)

    def size_bytes(self, path: str) -> int:
        return os.lstat(self.root / path).st_size

    def past_secrets(self, _hand_written: Sequence[Text], /) -> History:
        return History()

    def provide_all(self, paths: Sequence[str]) -> None:
        """Do nothing: the files are there."""

    def provide(self, path: str) -> None:
        """Do nothing: the file is there."""


class CommitSource:
    """The files of a commit, each checked out on demand."""

    def __init__(self, shadow: git.Shadow) -> None:
        self._shadow = shadow
        self._blobs = {blob.path: blob for blob in shadow.blobs()}
        self.home = shadow.commit.root
        self.root = shadow.tree
        self.commit = shadow.commit.hash
        self.changes = shadow.changes(MAX_LISTED)
        self.paths = tuple(sorted(self._blobs))

    def size_bytes(self, path: str) -> int:
        return self._blobs[path].size_bytes

    def past_secrets(self, hand_written: Sequence[Text], /) -> History:
        texts = (text.data.decode("utf-8", "replace") for text in hand_written)
        present = [line for text in texts for line in text.splitlines()]
        return history.search(self._shadow, HAND_WRITTEN_ENDINGS, present)

    def provide_all(self, paths: Sequence[str]) -> None:
        self._shadow.check_out([self._blobs[path] for path in paths], git.MAX_FILE_BYTES)

    def provide(self, path: str) -> None:
        for _ in range(_MAX_LINKS):
            inside = next((name for name in self._blobs if name.startswith(f"{path}/")), path)
            blob = self._blobs.get(inside)
            if blob is None:
                return
            self._shadow.check_out((blob,), git.MAX_FILE_BYTES)
            place = self.root / path
            if not place.is_symlink():
                return
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), os.readlink(place)))
