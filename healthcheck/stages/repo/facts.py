"""Gathers the files of a submission's repository, as a fresh clone of its commit would have them."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.errors import UsageError
from healthcheck.stages.repo import git, requirements, shells
from healthcheck.stages.repo.model_card import read_card
from healthcheck.stages.repo.records import (
    LARGE_FILE_BYTES,
    MAX_TEXT_BYTES,
    MAX_WRITTEN,
    Kind,
    Submission,
    Text,
    Uncommitted,
)
from healthcheck.stages.repo.settings import problems
from healthcheck.stages.repo.sources import (
    HAND_WRITTEN_ENDINGS,
    CommitSource,
    FolderSource,
    Source,
    read,
)
from healthcheck.stages.repo.tree import read_inside
from healthcheck.system import programs, yaml_text
from healthcheck.text.messages import msg

DEEPEST_SEARCH = 3
MAX_INCLUDED = 30
MAX_WRITTEN_BYTES = 64 * 1024
ANSWERS = ".copier-answers.yml"


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
        return _submission(FolderSource(root), stack)
    with git.shadow(commit, pending=pending, staged=staged) as shadow:
        return _submission(CommitSource(shadow), stack, pending=pending, staged=staged)


def _submission(
    source: Source, stack: str | None, *, pending: bool = False, staged: bool = False
) -> Submission:
    root, commit, changes = source.home, source.commit, source.changes
    deploy_sh = _entry(source, contract.ENTRY_POINT)
    wanted = _entry(source, contract.REQUIREMENTS)
    written = tuple(_hand_written(source))
    return Submission(
        root=root,
        commit=commit,
        pending=pending,
        staged=staged,
        uncommitted=None if commit else _why_uncommitted(root),
        changed=() if staged else changes.changed,  # unstaged changes were left out on purpose
        untracked=changes.untracked,
        ignored=changes.ignored,
        paths=source.paths,
        deploy_sh=deploy_sh.data,
        deploy_sh_kind=deploy_sh.kind,
        deploy_sh_mode=deploy_sh.mode,
        deploy_sh_link=deploy_sh.link,
        copy_has_crlf=b"\r\n" in (read_inside(root, contract.ENTRY_POINT, MAX_TEXT_BYTES) or b""),
        deploy_sh_elsewhere=_elsewhere(source.paths),
        requirements=wanted.data,
        requirements_kind=wanted.kind,
        texts=tuple(_texts(source)),
        parses=shells.parse(deploy_sh.data) if deploy_sh.data else (),
        stack=stack or _generated_for(source),
        card=read_card(_entry(source, "README.md").data),
        unread_settings=problems(root),
        large=tuple(
            (path, size)
            for path in source.paths
            if (size := source.size_bytes(path)) >= LARGE_FILE_BYTES
        ),
        written=written,
        history=source.past_secrets(written),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    kind: Kind
    data: bytes | None = None
    mode: int | None = None
    link: str = ""


def _entry(source: Source, name: str) -> _Entry:
    source.provide(name)
    path = source.root / name
    # listdir: the name has to be in exactly this case, even on a case-insensitive file system
    if not os.path.lexists(path) or name not in os.listdir(source.root):
        return _Entry(kind=Kind.MISSING)
    link = os.readlink(path) if path.is_symlink() else ""
    try:
        target = path.resolve(strict=False)
        if link and not target.is_relative_to(source.root.resolve()):
            return _Entry(kind=Kind.LINK_OUT, link=link)
        mode = path.stat().st_mode
    except (OSError, RuntimeError):
        return _Entry(kind=Kind.LINK_OUT if link else Kind.OTHER, link=link)
    if stat.S_ISDIR(mode):
        return _Entry(kind=Kind.FOLDER, link=link)
    if not stat.S_ISREG(mode):
        return _Entry(kind=Kind.OTHER, link=link)
    return _Entry(kind=Kind.FILE, data=read(source, name), mode=stat.S_IMODE(mode), link=link)


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


def _texts(source: Source) -> Iterator[Text]:
    """requirements.txt and the files of the repository that it includes, each once."""
    waiting, seen = [contract.REQUIREMENTS], set[str]()
    while waiting and len(seen) < MAX_INCLUDED:
        path = waiting.pop(0)
        data = None if path in seen else read(source, path)
        seen.add(path)
        if data is not None:
            text = Text(path=path, data=data[:MAX_TEXT_BYTES], truncated=len(data) > MAX_TEXT_BYTES)
            yield text
            waiting += requirements.includes(requirements.read(path, text.data))


def _hand_written(source: Source) -> Iterator[Text]:
    """The small scripts and settings files of the root and its folders, and .env."""
    near = (
        path
        for path in source.paths
        if path.count("/") < 2 and not path.startswith(("tests/", "."))
    )
    small = (
        path
        for path in near
        if path.endswith(HAND_WRITTEN_ENDINGS) and source.size_bytes(path) <= MAX_WRITTEN_BYTES
    )
    chosen = [*itertools.islice(small, MAX_WRITTEN)]
    chosen += [path for path in source.paths if path == ".env"]
    source.provide_all(chosen)
    for path in chosen:
        data = read_inside(source.root, path, MAX_WRITTEN_BYTES)
        if data is not None:
            yield Text(path=path, data=data)


def _generated_for(source: Source) -> str:
    """The row in the template's answers file, or the default row."""
    kept = read(source, ANSWERS)
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
