"""The git commands of the scaffold: commits, trees and a merge, in the author's repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from healthcheck.errors import KitFailure
from healthcheck.stages.repo.git import WITHOUT_PROGRAMS, WITHOUT_TRANSPORT
from healthcheck.system import programs
from healthcheck.text.messages import msg

OWN_IDENTITY = ("-c", "user.name=npu-adapter", "-c", "user.email=npu-adapter@localhost")
_OTHER_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"})
"""Set while git runs a hook: they would send the commands to the repository of the hook."""


def require() -> None:
    """Check that git is installed.

    Raises:
        KitFailure: it is not.
    """
    if programs.find("git") is None:
        raise KitFailure(msg("git is not installed, and an adapter is a git repository"))


def attempt(
    folder: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, without its hooks, fsmonitor and transport; the caller judges the exit status."""
    environment = {
        name: value for name, value in os.environ.items() if name not in _OTHER_REPOSITORY
    }
    return subprocess.run(
        [programs.find_or_name("git"), *WITHOUT_PROGRAMS, *arguments],
        cwd=folder, env=environment | WITHOUT_TRANSPORT | {**(variables or {})},
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip


def git(folder: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
    """Run git in a folder; returns its output.

    Raises:
        KitFailure: git refused.
    """
    done = attempt(folder, *arguments, variables=variables)
    if done.returncode:
        raise KitFailure(
            msg(
                "git {arguments} failed in {folder}: {split}",
                arguments=arguments[0],
                folder=folder,
                split=" ".join(done.stderr.split()),
            )
        )
    return done.stdout


def has_commits(folder: Path) -> bool:
    """Whether the folder is in a repository that has a commit."""
    return attempt(folder, "rev-parse", "--verify", "--quiet", "HEAD").returncode == 0


def commit_all(repository: Path, message: str) -> None:
    """Commit everything in a repository without commits, by git's configured author if there is one."""
    git(repository, "add", "--all")
    identity = () if _has_identity(repository) else OWN_IDENTITY
    git(
        repository,
        *identity,
        "commit",
        "--quiet",
        "--no-gpg-sign",
        "--no-verify",
        "--message",
        message,
    )


def _has_identity(repository: Path) -> bool:
    """Whether git has a configured author; an author that git would guess from the machine does not count."""
    configured = ("-c", "user.useConfigOnly=true", "var")
    asked = ("GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT")
    return not any(attempt(repository, *configured, name).returncode for name in asked)


class Trees:
    """Trees of files in the repository's object store, made without its index and its working tree.

    `scratch` is an empty folder for indexes.
    """

    def __init__(self, repository: Path, scratch: Path) -> None:
        self._repository = repository
        self._scratch = scratch
        self._store = git(repository, "rev-parse", "--absolute-git-dir").removesuffix("\n")

    def of_folder(self, folder: Path) -> str:
        """The id of the tree of a folder's files, with ignored ones."""
        return self._write(folder, ("add", "--all", "--force", "."))

    def without(self, tree: str, paths: tuple[str, ...]) -> str:
        return self._write(self._scratch, ("read-tree", tree), self._removal(paths))

    def with_entries(self, tree: str, source: str, paths: tuple[str, ...]) -> str:
        """The tree with these paths replaced by those of `source`; paths that `source` lacks are removed."""
        listed = git(self._repository, "ls-tree", "-r", "-z", "--full-tree", source, "--", *paths)
        entries = (entry.partition("\t") for entry in listed.split("\0") if entry)
        taken = [f"{about.split()[0]},{about.split()[2]},{name}" for about, _, name in entries]
        additions = [("update-index", "--add", "--cacheinfo", entry) for entry in taken]
        return self._write(self._scratch, ("read-tree", tree), self._removal(paths), *additions)

    @staticmethod
    def _removal(paths: tuple[str, ...]) -> tuple[str, ...]:
        return ("rm", "--cached", "-r", "-f", "--quiet", "--ignore-unmatch", "--", *paths)

    def _write(self, folder: Path, *commands: tuple[str, ...]) -> str:
        index = self._scratch / "index"
        index.unlink(missing_ok=True)
        variables = {
            "GIT_DIR": self._store,
            "GIT_WORK_TREE": str(folder.resolve()),
            "GIT_INDEX_FILE": str(index),
        }
        for command in commands:
            git(folder, *command, variables=variables)
        return git(folder, "write-tree", variables=variables).strip()

    def commit(self, tree: str, message: str, *parents: str) -> str:
        """Commit the tree outside any branch; returns the commit's id."""
        above = [word for parent in parents for word in ("-p", parent)]
        return git(
            self._repository,
            *OWN_IDENTITY,
            "commit-tree",
            "--no-gpg-sign",
            tree,
            *above,
            "-m",
            message,
        ).strip()
