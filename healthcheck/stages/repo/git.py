"""Checks out a commit as a fresh clone would, without trusting the repository that holds it.

A repository's own configuration can name programs (hooks, filters, fsmonitor, ssh commands) that git runs. So a
shadow repository of our own borrows the objects, and git works there. In the original repository, git only looks
up HEAD, core.fileMode and the paths of objects and index, which runs no program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from healthcheck.errors import UsageError, reason_of
from healthcheck.stages.repo import place
from healthcheck.system import files, processes, programs
from healthcheck.text.messages import msg

TIMEOUT_S = 60.0
MAX_FILES = 100_000
MAX_TREE_BYTES = 2 * 1024**3
MAX_FILE_BYTES = 64 * 1024**2
"""A larger file is checked out as a sparse file of its size: its contents are not needed."""
LARGEST_PATCHED_BYTES = 64 * 1024
"""A larger file of the history is not compared line by line."""
MAX_SHALLOW_BYTES = 1024**2
_HASH = re.compile(rb"^[0-9a-f]{40,64}$", re.MULTILINE)
EXECUTABLE = "100755"
Environment = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """One file of a commit. `size_bytes` is the stored size, before line ends are converted."""

    path: str
    mode: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How a working copy differs from the commit; paths are relative to the root, folders end in a slash."""

    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The newest part of a log with patches.

    Attributes:
        whole: it ends with the first commit. `shallow`: the repository lacks earlier commits.
        problem: why git ended with an error, "" if it did not.
    """

    text: str
    whole: bool
    shallow: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit of the repository at `root`, with the folder of the objects and the index file."""

    root: Path
    hash: str
    objects: Path
    index: Path
    file_modes: bool


def head(root: Path) -> Commit | None:
    """The commit at HEAD; None if `root` has no repository of its own or no commit.

    Raises:
        UsageError: there is a repository, but git cannot read it, or it is another folder's.
    """
    if not os.path.lexists(root / ".git") or programs.find("git") is None:
        return None
    with tempfile.TemporaryDirectory(prefix=files.prefix()) as home:
        base = ("--git-dir", str(root / ".git"), "--work-tree", str(root))
        ours = environment(Path(home))
        objects, index = (
            run_git((*base, "rev-parse", "--git-path", name), ours, root)
            for name in ("objects", "index")
        )
        if objects.returncode:
            why = last_line(objects.stderr)
            raise UsageError(
                msg("git cannot read the repository at {root}: {reason}", root=root, reason=why)
            )
        found = run_git((*base, "rev-parse", "--verify", "-q", "HEAD"), ours, root)
        if found.returncode:
            return None
        modes = run_git((*base, "config", "--type=bool", "core.filemode"), ours, root)
        own = run_git((*base, "rev-parse", "--absolute-git-dir"), ours, root)
        worktree = run_git((*base, "config", "core.worktree"), ours, root)
        used = tuple(_path(root, each.stdout) for each in (objects, index))
        place.refuse_foreign(
            root, _path(root, own.stdout), os.fsdecode(worktree.stdout.rstrip(b"\n")), used
        )
        return Commit(
            root=root,
            hash=found.stdout.decode().strip(),
            objects=used[0].resolve(),
            index=_index_in_use(used[1].resolve()),
            file_modes=modes.stdout.strip() != b"false",
        )


def _path(root: Path, printed: bytes) -> Path:
    """A path that git printed."""
    return root / os.fsdecode(printed.rstrip(b"\n"))


def _index_in_use(index: Path) -> Path:
    """The index, or the one of a commit in progress: `git commit FILE` shows its hooks a temporary index."""
    named = os.environ.get("GIT_INDEX_FILE", "")
    other = index.parent / os.path.basename(named)
    return other if named and other.is_file() else index


class Shadow:
    """A repository of our own that borrows a commit's objects and has the commit in its index."""

    def __init__(self, commit: Commit, folder: Path) -> None:
        self.commit = commit
        self.tree = folder / "clone" / (commit.root.name or "root")
        self._git_dir = self.tree / ".git"
        self._environment = environment(folder)
        self.tree.mkdir(parents=True)
        self._run(
            "init",
            "-q",
            "--template=",
            f"--object-format={'sha256' if len(commit.hash) == 64 else 'sha1'}",
        )
        alternates = self._git_dir / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        (self._git_dir / "borrowed").symlink_to(commit.objects)  # the path may contain a newline
        alternates.write_bytes(b"../borrowed\n")
        (self._git_dir / "shallow").write_text(commit.hash + "\n", encoding="ascii")
        self._run("update-ref", "--no-deref", "HEAD", commit.hash)
        self._run("read-tree", "HEAD")
        self._read = "HEAD"

    def stage(self) -> None:
        """Include the changes of the working copy, as `git commit -a` would; untracked files stay out."""
        names = b"".join(os.fsencode(path) + b"\0" for path in self.changes(MAX_FILES).changed)
        place = (*self._conversion(), "--work-tree", str(self.commit.root))
        self._run(*place, "update-index", "--remove", "-z", "--stdin", stdin=names)
        self._read = self._run("write-tree").decode().strip()

    def take_index(self) -> None:
        """Include the staged changes, as `git commit` would.

        Raises:
            UsageError: the index cannot be read, or has files with merge conflicts.
        """
        copy = self._git_dir / "staged"
        try:
            shutil.copyfile(self.commit.index, copy)
        except OSError as error:
            why = msg(
                "cannot read the index, {index}: {reason}",
                index=self.commit.index,
                reason=reason_of(error),
            )
            raise UsageError(why) from error
        ours = self._environment | {"GIT_INDEX_FILE": str(copy)}
        done = run_git(("--git-dir", str(self._git_dir), "write-tree"), ours, self.tree)
        if done.returncode:
            raise UsageError(
                msg("what is staged cannot be committed: {reason}", reason=last_line(done.stderr))
            )
        self._read = done.stdout.decode().strip()
        self._run("read-tree", self._read)

    def blobs(self) -> tuple[Blob, ...]:
        """The commit's files.

        Raises:
            UsageError: their number or total size exceeds the limit.
        """
        listing = self._run("ls-tree", "-r", "-l", "-z", "--full-tree", self._read).split(b"\0")
        blobs = tuple(blob for entry in listing if entry for blob in _blob(entry))
        total = sum(min(blob.size_bytes, MAX_FILE_BYTES) for blob in blobs)
        if len(blobs) > MAX_FILES or total > MAX_TREE_BYTES:
            why = msg(
                "the commit has {blobs} files and {total} bytes beside weights; at most {max_files} files "
                "and {max_tree_bytes} bytes are checked out",
                blobs=len(blobs),
                total=total,
                max_files=MAX_FILES,
                max_tree_bytes=MAX_TREE_BYTES,
            )
            raise UsageError(why)
        return blobs

    def pack(self) -> bytes:
        """The commit and its files, without its ancestors, as a git pack."""
        return self._run(
            "pack-objects", "--revs", "--stdout", "-q", stdin=f"{self.commit.hash}\n".encode()
        )

    def log(self, paths: Sequence[str], *, commits: int, most_bytes: int, deadline_s: float) -> Log:
        """The patches of the newest commits to some paths (pathspecs of git), as text; merges are left out.

        A line with NUL and the hash begins each commit. No program of the repository runs for it.
        """
        own = self.commit.objects.parent / "shallow"
        shallow = own.is_file()
        borders = self._git_dir / "borders"
        if shallow:
            borders.write_bytes(
                b"\n".join(_HASH.findall(files.read_bounded(own, MAX_SHALLOW_BYTES))) + b"\n"
            )
        command = (
            programs.find_or_name("git"), *WITHOUT_PROGRAMS, "-c", f"core.bigFileThreshold={LARGEST_PATCHED_BYTES}",
            "-c", "core.quotePath=false", "--git-dir", str(self._git_dir), "log", f"--max-count={commits + 1}",
            "--format=%x00%H", "--patch", "--unified=0", "--no-merges", "--no-renames", "--no-ext-diff",
            "--no-textconv", "--no-color", self.commit.hash, "--", *paths,
        )  # fmt: skip
        kept: list[bytes] = []
        ours = self._environment | {"GIT_SHALLOW_FILE": str(borders) if shallow else ""}
        try:
            status = processes.ran(
                command,
                lambda stream: kept.append(stream.read(most_bytes + 1)),
                deadline_s=deadline_s,
                cwd=self.tree,
                env=ours,
            )
        except OSError as error:
            return Log(text="", whole=False, shallow=shallow, problem=reason_of(error))
        data = b"".join(kept)
        text = data[:most_bytes].decode("utf-8", "replace")
        whole = status == 0 and len(data) <= most_bytes and data.count(b"\0") <= commits
        failed = status not in {0, None} and len(data) <= most_bytes
        return Log(
            text=text,
            whole=whole,
            shallow=shallow,
            problem=last_line(data[-2000:]) if failed else "",
        )

    def check_out(self, blobs: Sequence[Blob], limit_bytes: int) -> None:
        """Write the files as a clone would (line endings, modes, links); files above the limit become sparse."""
        small = [blob for blob in blobs if blob.size_bytes <= limit_bytes]
        names = b"".join(os.fsencode(blob.path) + b"\0" for blob in small)
        self._run("checkout-index", "-f", "-z", "--stdin", stdin=names)
        for blob in blobs:
            if blob.size_bytes > limit_bytes:
                path = self.tree / blob.path
                if path.parent.resolve().is_relative_to(self.tree.resolve()):
                    sparse_file(path, blob.size_bytes, executable=blob.mode == EXECUTABLE)

    def changes(self, limit: int) -> Changes:
        """How the repository's working copy differs from the commit, at most `limit` paths of each kind.

        A file with CRLF in the working copy and LF in the commit counts as unchanged, as it does for git.
        Files above MAX_FILE_BYTES are not compared: reading them would take minutes.
        """
        large = [
            name
            for name in self._run("ls-files", "-z").split(b"\0")
            if name and self._is_large(name)
        ]
        if large:
            self._run(
                "update-index",
                "-z",
                "--assume-unchanged",
                "--stdin",
                stdin=b"\0".join(large) + b"\0",
            )
        status = (
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--ignore-submodules=all",
            "--ignored=matching",
        )
        listing = self._run(
            *self._conversion(),
            "--work-tree",
            str(self.commit.root),
            *status,
            "--untracked-files=normal",
        )
        found: dict[str, list[str]] = {"??": [], "!!": [], "": []}
        for entry in listing.split(b"\0"):
            if entry:
                code, path = entry[:2].decode(), os.fsdecode(entry[3:])
                found[code if code in found else ""].append(path)
        changed, untracked, ignored = (tuple(found[code][:limit]) for code in ("", "??", "!!"))
        return Changes(changed=changed, untracked=untracked, ignored=ignored)

    def _is_large(self, name: bytes) -> bool:
        try:
            return (
                os.lstat(os.path.join(os.fsencode(self.commit.root), name)).st_size > MAX_FILE_BYTES
            )
        except OSError:
            return False

    def _conversion(self) -> tuple[str, ...]:
        modes = "true" if self.commit.file_modes else "false"
        return (
            "-c",
            "core.autocrlf=input",
            "-c",
            "core.safecrlf=false",
            "-c",
            f"core.fileMode={modes}",
        )

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        done = run_git(
            ("--git-dir", str(self._git_dir), *arguments), self._environment, self.tree, stdin
        )
        if done.returncode:
            why = last_line(done.stderr)
            raise UsageError(
                msg(
                    "git cannot read commit {hash}: {reason}",
                    hash=self.commit.hash[:12],
                    reason=why,
                )
            )
        return done.stdout


@contextmanager
def shadow(commit: Commit, *, pending: bool = False, staged: bool = False) -> Iterator[Shadow]:
    """Yield a shadow repository in a temporary folder.

    `pending` includes the changes of the working copy, `staged` only the staged ones.

    Raises:
        UsageError: git cannot read the commit.
    """
    folder = Path(tempfile.mkdtemp(prefix=files.prefix()))
    try:
        found = Shadow(commit, folder)
        if pending:
            found.stage()
        elif staged:
            found.take_index()
        yield found
    finally:
        files.remove_tree(str(folder))


def sparse_file(path: Path, size_bytes: int, *, executable: bool) -> None:
    """Create a file of a size without contents."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with path.open("xb") as file:
        file.truncate(size_bytes)
    path.chmod(0o755 if executable else 0o644)


def _blob(entry: bytes) -> Iterator[Blob]:
    facts, _, path = entry.partition(b"\t")
    (mode, kind, hash_, size), name = facts.decode().split(), os.fsdecode(path)
    if kind == "blob":
        if not size.isdecimal():
            why = msg(
                "the repository lacks a file of its commit, {fsdecode} ({hash}): clone it whole",
                fsdecode=name,
                hash=hash_[:12],
            )
            raise UsageError(why)
        yield Blob(path=name, mode=mode, size_bytes=int(size))


WITHOUT_TRANSPORT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
WITHOUT_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def run_git(
    arguments: Sequence[str], variables: Environment, folder: Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            (programs.find_or_name("git"), *WITHOUT_PROGRAMS, *arguments),
            env=variables, cwd=folder, input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        why = msg(
            "git {arguments} took longer than {timeout_s:.0f} s on this repository",
            arguments=arguments[-1],
            timeout_s=TIMEOUT_S,
        )
        raise UsageError(why) from error
    except OSError as error:
        raise UsageError(msg("cannot run git: {reason}", reason=reason_of(error))) from error


def environment(home: Path) -> Environment:
    """An environment with no git configuration but ours, which accepts any owner, and no transport or prompt."""
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n", encoding="ascii")
    kept = {name: os.environ[name] for name in ("TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {
        "PATH": programs.search_path(),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
        **WITHOUT_TRANSPORT,
    }


def last_line(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else msg("no reason given")
