"""Copies a submission's tree, for a program that runs in it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.repo import git, tree
from healthcheck.stages.repo.records import Submission
from healthcheck.system import files
from healthcheck.system.files import remove_tree
from healthcheck.text.messages import msg


@contextmanager
def export(submission: Submission) -> Iterator[Path]:
    """Yield a writable temporary copy of the submitted tree, as a fresh clone would have it.

    Files above git.MAX_FILE_BYTES are sparse files of their size. Links are copied as links, wherever they point.

    Raises:
        UsageError: the commit cannot be checked out.
    """
    if submission.commit:
        commit = git.head(submission.root)
        if commit is None or commit.hash != submission.commit:
            why = msg(
                "{root} was committed to while it was verified: run the command again",
                root=submission.root,
            )
            raise UsageError(why)
        with git.shadow(commit, pending=submission.pending, staged=submission.staged) as shadow:
            shadow.check_out(shadow.blobs(), git.MAX_FILE_BYTES)
            yield shadow.tree
        return
    folder = Path(tempfile.mkdtemp(prefix=files.prefix()))
    try:
        copy = folder / (submission.root.name or "root")
        tree.copy(submission.root, copy)
        yield copy
    finally:
        remove_tree(str(folder))
