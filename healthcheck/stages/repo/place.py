"""Refuses a repository that shows the commits of another one.

An unpacked folder can name any repository of the user as its own: by a `.git` file, by links among its objects, or
by alternates. Worktrees and submodules have their repository elsewhere, too; it names them in return, which an
unpacked folder cannot bring about.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.system.files import read_text
from healthcheck.text.messages import msg

_DEPTH = 3
"""The folders of git's objects are at most this deep: objects/info/commit-graphs."""
_PATH_CHARS = 4096


def refuse_foreign(root: Path, git_dir: Path, worktree: str, used: tuple[Path, ...]) -> None:
    """Refuse a repository at `root` whose objects or index lie outside it.

    Args:
        root: the folder that was named.
        git_dir: the repository's own folder.
        worktree: its `core.worktree`, relative to git_dir; "" without one.
        used: its objects and its index.

    Raises:
        UsageError: its commits may be those of another repository.
    """
    top = root.resolve()
    if not git_dir.resolve().is_relative_to(top):
        if not _names(git_dir, worktree, top):
            why = msg(
                "{root}/.git names the repository {git_dir}, which does not have this folder as its worktree: "
                "clone the repository",
                root=root,
                git_dir=git_dir,
            )
            raise UsageError(why)
        return
    elsewhere = next((path for path in used if not path.resolve().is_relative_to(top)), None)
    elsewhere = elsewhere or next(_links(used[0], _DEPTH), None)
    if elsewhere:
        why = msg(
            "the repository at {root} uses {path} of another one: clone the repository",
            root=root,
            path=elsewhere,
        )
        raise UsageError(why)
    alternates = used[0] / "info" / "alternates"
    if os.path.lexists(alternates):
        why = msg(
            "the repository at {root} borrows the objects of another one; copy them into it: "
            "git -C {quoted} repack -a -d && rm {alternates}",
            root=root,
            quoted=shlex.quote(str(root)),
            alternates=shlex.quote(str(alternates)),
        )
        raise UsageError(why)


def _names(git_dir: Path, worktree: str, top: Path) -> bool:
    """Whether a repository elsewhere names the folder as its worktree, as those of worktrees and submodules do."""
    if worktree:
        return (git_dir / worktree).resolve() == top
    named = git_dir / "gitdir"
    return (
        named.is_file()
        and (git_dir / read_text(named, _PATH_CHARS).rstrip("\n")).resolve() == top / ".git"
    )


def _links(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield Path(entry.path)
                elif depth and entry.is_dir(follow_symlinks=False):
                    yield from _links(Path(entry.path), depth - 1)
    except OSError:
        return
