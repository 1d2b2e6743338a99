"""Gathers the files of a submission's repository, as a fresh clone of its commit would have them."""

from __future__ import annotations

import enum
import itertools
import os
import posixpath
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.errors import UsageError
from healthcheck.stages.repo import git, history, requirements, shells, tree
from healthcheck.stages.repo.history import History
from healthcheck.stages.repo.model_card import Card, read_card
from healthcheck.stages.repo.settings import Problem, problems
from healthcheck.stages.repo.shells import Parse
from healthcheck.stages.repo.tree import read_inside
from healthcheck.system import files, programs, yaml_text
from healthcheck.system.files import remove_tree
from healthcheck.text.messages import msg

MAX_TEXT_BYTES = 1024**2
"""Hand-written deploy.sh and requirements files are shorter."""
MAX_LISTED = 200
DEEPEST_SEARCH = 3
MAX_INCLUDED = 30
MAX_LINKS = 10
ANSWERS = ".copier-answers.yml"
LARGE_FILE_BYTES = 50 * 1024**2
"""Hosts of repositories warn at this size, and refuse twice of it."""
MAX_WRITTEN_BYTES = 64 * 1024
MAX_WRITTEN = 40
_WRITTEN = (".sh", ".py", ".env", ".toml", ".yaml", ".yml", ".json", ".cfg", ".ini")


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


def read_submission(
    root: Path, *, stack: str | None = None, pending: bool = False, staged: bool = False
) -> Submission:
    """Read a submission: the commit of a git repository, or the files of a plain folder.

    `stack` is a vllm-ascend release; the submission is compared with its row of the version matrix, or the nearest
    row. None takes the row that the repository was generated for, or else the default row. `pending` includes what
    `git commit -a` would commit, to preview a repair; `staged` includes what `git commit` would.

    Raises:
        UsageError: `stack` is not a version; `root` is not a folder, cannot be read, or is too large for a
            repository of code.
    """
    stack = stacks.choose(stack).row.vllm_ascend if stack else None
    root = root.expanduser().resolve()
    if not root.is_dir():
        raise UsageError(msg("{root} is not a folder", root=root))
    commit = git.head(root)
    if commit is None:
        return _submission(_Files(root, root, tree.paths(root)), stack)
    with git.shadow(commit, pending=pending, staged=staged) as shadow:
        return _submission(_Committed(shadow), stack, pending=pending, staged=staged)


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


def _submission(
    files: _Files, stack: str | None, *, pending: bool = False, staged: bool = False
) -> Submission:
    root, commit, changes = files.home, files.commit, files.changes
    deploy_sh = _entry(files, contract.ENTRY_POINT)
    wanted = _entry(files, contract.REQUIREMENTS)
    written = tuple(_written(files))
    return Submission(
        root=root,
        commit=commit,
        pending=pending,
        staged=staged,
        uncommitted=None if commit else _why_uncommitted(root),
        changed=() if staged else changes.changed,  # unstaged changes were left out on purpose
        untracked=changes.untracked,
        ignored=changes.ignored,
        paths=files.paths,
        deploy_sh=deploy_sh.data,
        deploy_sh_kind=deploy_sh.kind,
        deploy_sh_mode=deploy_sh.mode,
        deploy_sh_link=deploy_sh.link,
        copy_has_crlf=b"\r\n" in (read_inside(root, contract.ENTRY_POINT, MAX_TEXT_BYTES) or b""),
        deploy_sh_elsewhere=_elsewhere(files.paths),
        requirements=wanted.data,
        requirements_kind=wanted.kind,
        texts=tuple(_texts(files)),
        parses=shells.parse(deploy_sh.data) if deploy_sh.data else (),
        stack=stack or _generated_for(files),
        card=read_card(_entry(files, "README.md").data),
        unread_settings=problems(root),
        large=tuple(
            (path, size)
            for path in files.paths
            if (size := files.size_bytes(path)) >= LARGE_FILE_BYTES
        ),
        written=written,
        history=files.history(written),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    kind: Kind
    data: bytes | None = None
    mode: int | None = None
    link: str = ""


class _Files:
    """Reads the files of a plain folder; `_Committed` reads those of a commit.

    Attributes:
        home: the submission's own folder.
        root: the folder that `provide` puts files in.
    """

    commit = ""
    changes = git.Changes(changed=(), untracked=(), ignored=())

    def __init__(self, home: Path, root: Path, paths: tuple[str, ...]) -> None:
        self.home = home
        self.root = root
        self.paths = paths

    def size_bytes(self, path: str) -> int:
        return os.lstat(self.root / path).st_size

    def history(self, _written: Sequence[Text]) -> History:
        """Secrets in earlier versions of the small files; `_written` are the present ones."""
        return History()

    def provide_all(self, paths: Sequence[str]) -> None:
        """Make the submission's files at these paths readable below `root`, without the targets of links."""

    def provide(self, path: str) -> None:
        """Make the submission's file at a path, or the target of the link there, readable below `root`."""

    def read(self, path: str) -> bytes | None:
        """The first MAX_TEXT_BYTES + 1 bytes of a file; None if the submission has no such file."""
        self.provide(path)
        return read_inside(self.root, path, MAX_TEXT_BYTES + 1)


class _Committed(_Files):
    """Reads the files of a commit, each checked out on demand."""

    def __init__(self, shadow: git.Shadow) -> None:
        self._shadow = shadow
        self._blobs = {blob.path: blob for blob in shadow.blobs()}
        super().__init__(shadow.commit.root, shadow.tree, tuple(sorted(self._blobs)))
        self.commit = shadow.commit.hash
        self.changes = shadow.changes(MAX_LISTED)

    def size_bytes(self, path: str) -> int:
        return self._blobs[path].size_bytes

    def history(self, _written: Sequence[Text]) -> History:
        present = [
            line for text in _written for line in text.data.decode("utf-8", "replace").splitlines()
        ]
        return history.search(self._shadow, _WRITTEN, present)

    def provide_all(self, paths: Sequence[str]) -> None:
        self._shadow.check_out([self._blobs[path] for path in paths], git.MAX_FILE_BYTES)

    def provide(self, path: str) -> None:
        for _ in range(MAX_LINKS):
            inside = next((name for name in self._blobs if name.startswith(f"{path}/")), path)
            blob = self._blobs.get(inside)
            if blob is None:
                return
            self._shadow.check_out((blob,), git.MAX_FILE_BYTES)
            place = self.root / path
            if not place.is_symlink():
                return
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), os.readlink(place)))


def _entry(files: _Files, name: str) -> _Entry:
    files.provide(name)
    path = files.root / name
    # listdir: the name has to be in exactly this case, even on a case-insensitive file system
    if not os.path.lexists(path) or name not in os.listdir(files.root):
        return _Entry(kind=Kind.MISSING)
    link = os.readlink(path) if path.is_symlink() else ""
    try:
        target = path.resolve(strict=False)
        if link and not target.is_relative_to(files.root.resolve()):
            return _Entry(kind=Kind.LINK_OUT, link=link)
        mode = path.stat().st_mode
    except (OSError, RuntimeError):
        return _Entry(kind=Kind.LINK_OUT if link else Kind.OTHER, link=link)
    if stat.S_ISDIR(mode):
        return _Entry(kind=Kind.FOLDER, link=link)
    if not stat.S_ISREG(mode):
        return _Entry(kind=Kind.OTHER, link=link)
    return _Entry(kind=Kind.FILE, data=files.read(name), mode=stat.S_IMODE(mode), link=link)


def _elsewhere(paths: tuple[str, ...]) -> tuple[str, ...]:
    wanted = contract.ENTRY_POINT
    alike = {
        wanted.lower(),
        wanted.lower().partition(".")[0],
        f"{wanted.lower()}.txt",
        contract.PUBLIC.entry_point,
    }
    found = [path for path in paths if path.rpartition("/")[2].lower() in alike]
    near = [path for path in found if path != wanted and path.count("/") <= DEEPEST_SEARCH]
    return tuple(sorted(near, key=lambda path: (path.count("/"), path))[:10])


def _texts(files: _Files) -> Iterator[Text]:
    """requirements.txt and the files of the repository that it includes, each once."""
    waiting, seen = [contract.REQUIREMENTS], set[str]()
    while waiting and len(seen) < MAX_INCLUDED:
        path = waiting.pop(0)
        data = None if path in seen else files.read(path)
        seen.add(path)
        if data is not None:
            text = Text(path=path, data=data[:MAX_TEXT_BYTES], truncated=len(data) > MAX_TEXT_BYTES)
            yield text
            waiting += requirements.includes(requirements.read(path, text.data))


def _written(files: _Files) -> Iterator[Text]:
    """The small scripts and settings files, which people write by hand."""
    near = (
        path for path in files.paths if path.count("/") < 2 and not path.startswith(("tests/", "."))
    )
    named = (
        path
        for path in near
        if path.endswith(_WRITTEN) and files.size_bytes(path) <= MAX_WRITTEN_BYTES
    )
    chosen = [*itertools.islice(named, MAX_WRITTEN)]
    chosen += [path for path in files.paths if path == ".env"]
    files.provide_all(chosen)
    for path in chosen:
        data = read_inside(files.root, path, MAX_WRITTEN_BYTES)
        if data is not None:
            yield Text(path=path, data=data)


def _generated_for(files: _Files) -> str:
    """The row in the template's answers file, or the default row."""
    kept = files.read(ANSWERS)
    if not kept:
        return stacks.DEFAULT
    try:
        answers = yaml_text.load(kept.decode("utf-8", "replace"))
    except yaml_text.YamlError:
        return stacks.DEFAULT
    answer = str(answers.get("stack", "")) if isinstance(answers, dict) else ""
    return answer if answer in {row.vllm_ascend for row in stacks.rows()} else stacks.DEFAULT


def _why_uncommitted(root: Path) -> Uncommitted:
    if not os.path.lexists(root / ".git"):
        return Uncommitted.NO_REPOSITORY
    return Uncommitted.NO_GIT if programs.find("git") is None else Uncommitted.NO_COMMIT
