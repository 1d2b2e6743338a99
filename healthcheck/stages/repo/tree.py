"""Lists, reads and copies the files of a submission in a plain folder, and never leaves the folder."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from healthcheck.errors import UsageError, reason_of
from healthcheck.stages.repo import git
from healthcheck.text.messages import msg

MAX_DEPTH = 200
"""Nesting of folders: a repository of code has about a dozen levels, and a path at most 4096 bytes."""


def paths(root: Path) -> tuple[str, ...]:
    """The files and links below `root`, sorted, relative to it; no link is followed.

    Raises:
        UsageError: there are more files than a repository of code has.
    """
    return tuple(sorted(path for path, _ in _walk(root)))


def read_inside(root: Path, path: str, limit_bytes: int) -> bytes | None:
    """The first bytes of a regular file; None for anything else and for a link out of `root`."""
    try:
        place = (root / path).resolve()
        if not place.is_relative_to(root.resolve()) or not place.is_file():
            return None
        with place.open("rb") as file:
            return file.read(limit_bytes)
    except (OSError, RuntimeError):
        return None


def copy(root: Path, target: Path) -> None:
    """Copy a folder: regular files with their mode, links as links, large files as sparse files of their size.

    Raises:
        UsageError: the folder is larger than a repository of code.
    """
    total = 0
    target.mkdir(parents=True)
    for path, facts in _walk(root):
        source, place = root / path, target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(facts.st_mode):
            os.symlink(os.readlink(source), place)
        elif facts.st_size > git.MAX_FILE_BYTES:
            git.sparse_file(place, facts.st_size, executable=bool(facts.st_mode & stat.S_IXUSR))
        else:
            total += facts.st_size
            if total > git.MAX_TREE_BYTES:
                limit = git.MAX_TREE_BYTES
                why = msg(
                    "{root} has more than {max_tree_bytes} bytes beside weights: is it a repository?",
                    root=root,
                    max_tree_bytes=limit,
                )
                raise UsageError(why)
            _copy_file(source, place, facts.st_mode)


def _copy_file(source: Path, place: Path, mode: int) -> None:
    try:
        shutil.copyfile(source, place, follow_symlinks=False)
    except OSError as error:
        raise UsageError(
            msg("cannot copy {source}: {reason}", source=source, reason=reason_of(error))
        ) from error
    place.chmod(0o755 if mode & stat.S_IXUSR else 0o644)


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    count = 0
    for place, folders, files in os.walk(root):
        if os.path.relpath(place, root).count(os.sep) > MAX_DEPTH:
            why = msg(
                "{root} has folders more than {max_depth} deep: is it a repository?",
                root=root,
                max_depth=MAX_DEPTH,
            )
            raise UsageError(why)
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        folders[:] = sorted(
            name for name in folders if name not in links and _belongs(os.path.join(place, name))
        )
        for name in sorted([*files, *links]):
            full = os.path.join(place, name)
            facts = os.lstat(full)
            if not (stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)) or name == ".git":
                continue
            count += 1
            if count > git.MAX_FILES:
                why = msg(
                    "{root} has more than {max_files} files: is it a repository?",
                    root=root,
                    max_files=git.MAX_FILES,
                )
                raise UsageError(why)
            yield os.path.relpath(full, root), facts


def _belongs(folder: str) -> bool:
    """Whether a folder would be committed: not git's own, not a cache, not a virtual environment."""
    return os.path.basename(folder) not in {
        ".git",
        "__pycache__",
        "node_modules",
    } and not os.path.exists(os.path.join(folder, "pyvenv.cfg"))
