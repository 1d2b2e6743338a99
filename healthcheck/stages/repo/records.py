"""The facts of a submission's repository, and their limits."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path

from healthcheck.stages.repo.history import History
from healthcheck.stages.repo.model_card import Card
from healthcheck.stages.repo.settings import Problem
from healthcheck.stages.repo.shells import Parse
from healthcheck.text.messages import msg

MAX_TEXT_BYTES = 1024**2
"""Hand-written deploy.sh and requirements files are shorter."""
MAX_LISTED = 200
LARGE_FILE_BYTES = 50 * 1024**2
"""Hosts of repositories warn at this size, and refuse twice of it."""
MAX_WRITTEN = 40


class Kind(enum.Enum):
    """The kind of a path of the tree; links are followed within the tree."""

    MISSING = "missing"
    FILE = "file"
    FOLDER = "folder"
    LINK_OUT = msg("link out of the tree")
    OTHER = msg("special file")


class Uncommitted(enum.Enum):
    """Why a submission has no commit, in the words of the report."""

    NO_REPOSITORY = msg("the folder is not a git repository of its own")
    NO_GIT = msg("this machine has no git to read the commit with")
    NO_COMMIT = msg("nothing is committed yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The first MAX_TEXT_BYTES of a file of the tree."""

    path: str
    data: bytes
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A repository, as the service clones it.

    Attributes:
        root: the repository's root, absolute.
        commit: the hash of HEAD, "" if the folder is not a git repository of its own or has no commit; the files
            are then those of the folder.
        pending: the changes of the working copy are included, as by `git commit -a`.
        staged: the staged changes are included, as by `git commit`.
        uncommitted: why there is no commit, None if there is one.
        changed: committed paths that were changed or deleted in the working copy; at most MAX_LISTED.
        untracked: paths of the working copy that are not in the commit; a whole folder ends in a slash.
        ignored: the same for paths that .gitignore excludes.
        paths: the tree's files and links, sorted.
        deploy_sh: the bytes of deploy.sh, None unless it is a regular file or a link to one within the tree.
        deploy_sh_mode: its permission bits, None if there is no such file.
        copy_has_crlf: deploy.sh in the working copy has lines that end in CRLF, whatever the commit has.
        deploy_sh_elsewhere: paths of a misplaced or misspelled deploy.sh.
        requirements: the bytes of requirements.txt, None if there is none.
        texts: requirements.txt and the files of the repository that it includes.
        stack: the chosen row of the version matrix.
        parses: the results of the shells' own parsers for deploy.sh.
        unread_settings: the settings files in the working copy that are not TOML.
        large: the tree's files of LARGE_FILE_BYTES or more, with their sizes in bytes.
        written: small scripts and settings files of the root and its folders, at most MAX_WRITTEN.
        history: secrets in earlier versions of such files.
    """

    root: Path
    commit: str
    pending: bool
    staged: bool
    uncommitted: Uncommitted | None
    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]
    paths: tuple[str, ...]
    deploy_sh: bytes | None
    deploy_sh_kind: Kind
    deploy_sh_mode: int | None
    deploy_sh_link: str
    copy_has_crlf: bool
    deploy_sh_elsewhere: tuple[str, ...]
    requirements: bytes | None
    requirements_kind: Kind
    texts: tuple[Text, ...]
    parses: tuple[Parse, ...]
    stack: str
    card: Card
    unread_settings: tuple[Problem, ...]
    large: tuple[tuple[str, int], ...]
    written: tuple[Text, ...]
    history: History = field(default_factory=History)

    def text(self, path: str) -> Text | None:
        """One of `texts`, by its path."""
        return next((text for text in self.texts if text.path == path), None)
