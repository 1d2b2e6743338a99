"""Packs a commit for a machine without access to its repository, and unpacks or fetches it there.

No program of the repository runs: its configuration is not read (see `repo.git`), and a fetched one has none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from healthcheck.errors import UsageError
from healthcheck.stages.repo import git
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

MAX_PACK_BYTES = 1024**3
"""Total size of a commit's files. A larger submission is a mistake, which `verify` in its folder explains."""
HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
TRANSPORTS = "https:http:ssh:git:file"
_OF_GIT = re.compile(r"GIT_(?!SSH|ASKPASS|PROXY)\w+")
"""Variables that would redirect git; those that configure how it reaches a server are the user's to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One commit with its files. `name` is the name of the repository's folder."""

    name: str
    hash: str
    data: bytes = field(repr=False)


def pack(commit: git.Commit) -> Packed:
    """Pack a commit with its files.

    Raises:
        UsageError: git cannot read the commit, or its files exceed MAX_PACK_BYTES.
    """
    with git.shadow(commit) as shadow:
        size = sum(blob.size_bytes for blob in shadow.blobs())
        if size > MAX_PACK_BYTES:
            raise UsageError(
                msg(
                    "the files of commit {hash} have {size} bytes; at most {max_pack_bytes} are sent: weights do "
                    "not belong in the repository",
                    hash=commit.hash[:12],
                    size=size,
                    max_pack_bytes=MAX_PACK_BYTES,
                )
            )
        return Packed(name=commit.root.name or "root", hash=commit.hash, data=shadow.pack())


def unpack(packed: Packed, folder: Path) -> Path:
    """Create a repository with the commit below an empty folder, checked out as in a shallow clone.

    Raises:
        UsageError: git cannot read the pack.
    """
    root = folder / "repository" / packed.name
    root.mkdir(parents=True)
    ours = git.environment(folder)

    def run(*arguments: str, stdin: bytes = b"") -> None:
        done = git.run_git(arguments, ours, root, stdin)
        if done.returncode:
            why = git.last_line(done.stderr)
            raise UsageError(
                msg("git cannot unpack commit {hash}: {reason}", hash=packed.hash[:12], reason=why)
            )

    _init(run, packed.hash)
    run("index-pack", "--stdin", stdin=packed.data)
    (root / ".git" / "shallow").write_text(packed.hash + "\n", encoding="ascii")
    run("update-ref", "--no-deref", "HEAD", packed.hash)
    run("read-tree", "HEAD")
    run("checkout-index", "-q", "-a", "-f")
    return root


def fetch(url: str, hash_: str, folder: Path) -> git.Commit:
    """Fetch one commit of a remote repository, without checkout, into a repository below an empty folder.

    The user's git configuration applies (credentials, proxies, keys). User and password of the URL are passed in
    the environment, because every user of the machine can see a command line.

    Raises:
        UsageError: the commit cannot be fetched.
    """
    parts = urlsplit(url)
    root = folder / (Path(parts.path).name.removesuffix(".git") or "root")
    root.mkdir(parents=True)
    own, _, host = parts.netloc.rpartition("@")
    hidden = own and parts.scheme != "ssh"
    base = f"{parts.scheme}://{host}/"
    clean = parts._replace(netloc=host).geturl() if hidden else url
    variables = {name: value for name, value in os.environ.items() if not _OF_GIT.fullmatch(name)}
    variables |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": TRANSPORTS, "LC_ALL": "C"}
    if hidden:
        whole = f"url.{parts.scheme}://{own}@{host}/.insteadOf"
        variables |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": whole,
            "GIT_CONFIG_VALUE_0": base,
        }

    def run(*arguments: str) -> None:
        done = git.run_git(arguments, variables, root)
        if done.returncode:
            why = git.last_line(done.stderr)
            for secret in filter(None, (own, own.partition(":")[2] or own) if hidden else ()):
                why = why.replace(secret, "removed")
            place, why = without_secrets(clean), without_secrets(why)
            raise UsageError(
                msg(
                    "cannot fetch {hash} from {address}: {reason}",
                    hash=hash_[:12],
                    address=place,
                    reason=why,
                )
            )

    _init(run, hash_)
    run("fetch", "-q", "--depth=1", "--no-tags", "--no-write-fetch-head", "--", clean, hash_)
    store = root / ".git"
    return git.Commit(
        root=root, hash=hash_, objects=store / "objects", index=store / "index", file_modes=True
    )


def _init(run: Callable[..., None], hash_: str) -> None:
    run("init", "-q", "--template=", f"--object-format={'sha256' if len(hash_) == 64 else 'sha1'}")
