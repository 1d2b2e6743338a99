"""Merges changes of the template into a repository that was made from it."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from healthcheck import __version__
from healthcheck.core.records import JsonValue
from healthcheck.errors import KitError, UsageError
from healthcheck.scaffold import KIT_FOLDER, answers, git, kit, template
from healthcheck.scaffold.answers import ANSWERS_FILE, Answers
from healthcheck.scaffold.create import given_on
from healthcheck.scaffold.render import Order, render
from healthcheck.system.files import prefix
from healthcheck.text.messages import msg

_UNPROTECTED = re.compile(r"(?:git\+)?(?:http|git|ftp)://", re.IGNORECASE)
"""Anyone on the way could answer, and the address may be a service of the caller's own network."""
_UNSTAMPED = (ANSWERS_FILE, KIT_FOLDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The result of an update from the template at `source`.

    Attributes:
        before, after: the template's versions; "" if it has none, as a plain folder.
        changes: the changed files, as git lists them; "" for none.
        conflicts: files in which the author and the template changed the same lines.
    """

    source: str
    before: str
    after: str
    changes: str
    conflicts: tuple[str, ...]


def update(repository: Path) -> Update:
    """Merge the current version of the template: the kit's own, or the newest tag or commit of another.

    A three-way merge by git, in the index and the working tree. The base is what the template made originally,
    theirs is what it makes now from the same answers. Committing is left to the author.

    Raises:
        UsageError: the repository was not made from a template or has uncommitted changes, or the original template
            cannot be found.
    """
    git.require()
    made = answers.read(repository)
    _refuse_unready(repository, made)
    with tempfile.TemporaryDirectory(prefix=prefix()) as scratch:
        merge = _Merge(repository, made, Path(scratch))
        theirs, after = merge.theirs()
        changes, conflicts = merge.into_the_working_copy(theirs, after)
    return Update(
        source=made.source, before=made.version, after=after, changes=changes, conflicts=conflicts
    )


def _refuse_unready(repository: Path, made: Answers) -> None:
    if not git.has_commits(repository):
        raise UsageError(
            msg("{repository} has no commit to merge into: commit it first", repository=repository)
        )
    if git.git(repository, "status", "--porcelain", "--", ".").strip():
        raise UsageError(
            msg(
                "{repository} has uncommitted changes: commit or stash them first",
                repository=repository,
            )
        )
    if _UNPROTECTED.match(made.source):
        said = msg(
            "{file} names the template at {source}, which is not fetched: write its https address",
            file=repository / ANSWERS_FILE,
            source=made.source,
        )
        raise UsageError(said)
    release = made.version.partition("-")[0]
    if made.own and _numbers(release) > _numbers(__version__):
        raise UsageError(
            msg(
                "{repository} is from the template of the kit {release}, and this is {version}",
                repository=repository,
                release=release,
                version=__version__,
            )
        )


def _numbers(release: str) -> list[int]:
    return [int(part) for part in release.split(".") if part.isdecimal()]


class _Merge:
    """One merge; `scratch` is an empty folder that outlives it."""

    def __init__(self, repository: Path, made: Answers, scratch: Path) -> None:
        self._repository = repository
        self._made = made
        self._scratch = scratch
        self._within = git.git(repository, "rev-parse", "--show-prefix").rstrip("\n")
        indexes = scratch / "indexes"
        indexes.mkdir()
        self._trees = git.Trees(repository, indexes)

    def theirs(self) -> tuple[str, str]:
        """The tree that the template makes now, and the template's version."""
        folder = self._scratch / "theirs"
        now = render(self._order("", given_on(self._made.given)), folder / self._within)
        tree = self._trees.without(self._trees.of_folder(folder), self._unstamped())
        answers.record(folder / self._within, rendering=tree)
        return self._trees.of_folder(folder), now.version if now else ""

    def into_the_working_copy(self, theirs: str, after: str) -> tuple[str, tuple[str, ...]]:
        """Merge; returns the changes as git lists them, and the files with conflicts."""
        head = git.git(self._repository, "rev-parse", "HEAD^{tree}").strip()
        base = self._trees.with_entries(self._base(), head, self._unstamped())
        if base == theirs:
            return "", ()
        old = self._trees.commit(base, f"the template {self._made.version}".strip())
        new = self._trees.commit(theirs, f"the template {after}".strip(), old)
        done = git.attempt(
            self._repository, "-c", "rerere.enabled=false", "cherry-pick", "--no-commit", new
        )
        listed = git.git(
            self._repository, "diff", "--name-only", "--diff-filter=U", "--relative", "-z"
        )
        conflicts = tuple(filter(None, listed.split("\0")))
        if done.returncode and not conflicts:
            raise UsageError(
                msg(
                    "git cannot merge the template into {repository}: {split}",
                    repository=self._repository,
                    split=" ".join(done.stderr.split()),
                )
            )
        return git.git(self._repository, "status", "--short", "--", "."), conflicts

    def _unstamped(self) -> tuple[str, ...]:
        return tuple(f"{self._within}{name}" for name in _UNSTAMPED)

    def _base(self) -> str:
        """The tree that the template made originally: rendered again, or else as it was committed."""
        made, folder = self._made, self._scratch / "base"
        said: str
        source, said = made.source, msg("a plain folder has no versions")
        if made.own:
            found = template.earlier(made.version, self._scratch / "earlier")
            source, said = (
                str(found or ""),
                msg("the template {version} is nowhere to be had", version=made.version),
            )
        if source and made.version:
            try:
                version = "" if made.own else made.version
                render(
                    replace(self._order(version, made.given), source=source), folder / self._within
                )
                return self._trees.of_folder(folder)
            except KitError as error:
                said = str(error)
        committed = self._first_commit()
        if committed:
            return committed
        told = msg(
            "what {source} made of {repository} is lost: {said}, and no commit has it as it was. ",
            source=made.source,
            repository=self._repository,
            said=said,
        )
        raise UsageError(told + _by_hand(self._repository, made))

    def _first_commit(self) -> str:
        """The commit that added the answers, if it has exactly what was rendered then; "" otherwise."""
        log = ("log", "--diff-filter=A", "--format=%H", "--", ANSWERS_FILE)
        for commit in git.git(self._repository, *log).split():
            stored = git.attempt(self._repository, "show", f"{commit}:{ANSWERS_FILE}")
            try:
                rendering = answers.parse(stored.stdout, commit).rendering
            except KitError:
                continue
            if rendering and rendering == self._trees.without(commit, _UNSTAMPED):
                return commit
        return ""

    def _order(self, version: str, given: Mapping[str, JsonValue]) -> Order:
        source = None if self._made.own else self._made.source
        defaults = {"kit": kit.address(), **template.OF_EARLIER}
        return Order(source=source, version=version, given=given, defaults=defaults)


def _by_hand(repository: Path, made: Answers) -> str:
    """How to update a repository by hand that has no version to compare with."""
    data = " ".join(
        f"--data {shlex.quote(f'{name}={value}')}" for name, value in made.given.items()
    )
    return msg(
        "Make a fresh one with its answers, and take over what you want:\n  npu-adapter new FRESH "
        "--defaults {data}\n  diff -ru -x .git {repository} FRESH",
        data=data,
        repository=shlex.quote(str(repository)),
    )
