"""Searches the history of a commit for secrets that a later commit removed.

Anyone who clones the repository gets them, so they have to be revoked. The search is bounded in commits, bytes
and time, and reads the same small files as the check of the present ones.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from healthcheck.stages.repo.git import Log, Shadow
from healthcheck.text.messages import msg
from healthcheck.text.redact import secret_lines

MAX_COMMITS = 1000
MAX_BYTES = 8 * 1024**2
SEARCH_S = 5.0
MAX_FOUND = 5
_FILE = re.compile(r'\+\+\+ "?b/(?P<path>[^"\t]*)')
_LIKELY = re.compile(r"[\w.=~+/-]{8}")
"""What each secret has; most lines of a history are skipped by it, or because they are there twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSecret:
    """A line of an earlier commit with a likely secret, redacted."""

    path: str
    commit: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What the history has.

    Attributes:
        secrets: the newest ones, at most MAX_FOUND.
        unread: why older commits were not searched; "" if all were.
    """

    secrets: tuple[PastSecret, ...] = ()
    unread: str = ""


def search(shadow: Shadow, endings: Sequence[str], present: Sequence[str]) -> History:
    """Search the history for lines with secrets.

    Args:
        shadow: the repository.
        endings: the ends of the names of the files to search.
        present: the lines of the submission's own files; a secret in one of them is reported as such.
    """
    log = shadow.log(
        _patterns(endings), commits=MAX_COMMITS, most_bytes=MAX_BYTES, deadline_s=SEARCH_S
    )
    until = time.monotonic() + SEARCH_S
    found: list[PastSecret] = []
    known = {line.strip() for line in present}
    for commit, path, line in _added(log.text):
        if line.strip() in known or not _LIKELY.search(line):
            continue
        known.add(line.strip())
        found += [
            PastSecret(path=path, commit=commit, line=shown) for _, shown in secret_lines(line)
        ]
        if len(found) >= MAX_FOUND or time.monotonic() > until:
            break
    return History(secrets=tuple(found[:MAX_FOUND]), unread=_unread(log, until))


def _unread(log: Log, until: float) -> str:
    if log.shallow:
        return msg(
            "the clone is shallow: earlier commits were not searched for secrets; git fetch --unshallow gets them"
        )
    if log.problem:
        return msg("the history could not be searched ({problem})", problem=log.problem)
    if not log.whole or time.monotonic() > until:
        return msg("the history is long: only its newest commits were searched for secrets")
    return ""


def _patterns(endings: Sequence[str]) -> tuple[str, ...]:
    """Git's patterns for the files at the root and in its folders, without tests and hidden folders."""
    near = tuple(f":(glob){folder}*{ending}" for ending in endings for folder in ("", "*/"))
    return (*near, ":(exclude,glob)tests/**", ":(exclude,glob).*/**")


def _added(text: str) -> Iterator[tuple[str, str, str]]:
    """The added lines of a log with patches: commit, path, line."""
    commit = path = ""
    in_hunk = False
    for line in text.split("\n"):
        if line.startswith("\0"):
            commit, in_hunk = line[1:].strip(), False
        elif line.startswith("diff --git "):
            path, in_hunk = "", False
        elif line.startswith("@@ "):
            in_hunk = True
        elif not in_hunk and (named := _FILE.match(line)):
            path = named["path"]
        elif in_hunk and line.startswith("+"):
            yield commit, path, line[1:].rstrip("\r")
