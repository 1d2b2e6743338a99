"""Makes a repository from a template, or adds the template's files to an existing one."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from healthcheck.core.records import JsonValue
from healthcheck.errors import KitFailure, UsageError, reason_of
from healthcheck.scaffold import KIT_FOLDER, answers, git, kit
from healthcheck.scaffold.render import Order, render
from healthcheck.system.files import prefix
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

MESSAGE = "Adapter repository, as the template made it"
MAX_SHOWN_BYTES = 1024**2
_NOT_IN_A_TITLE = re.compile(r"[^\w .,()+-]+|\A[^\w]+")


def order(destination: Path, given: Mapping[str, str], *, template: str | None, ask: bool) -> Order:
    """What to render for a folder. The title is the folder's name; the kit has an address, or none.

    `template` is a git address or a folder, None for the kit's own.
    """
    title = _NOT_IN_A_TITLE.sub(" ", destination.resolve().name).lstrip(" .,()+-").strip()
    defaults = {"kit": kit.address()} | ({"name": title} if title else {})
    # Known answers are not asked for.
    known = {"kit": defaults["kit"]} if template is None and defaults["kit"] else {}
    source = str(Path(template).resolve()) if template and Path(template).exists() else template
    return Order(source=source, given=known | dict(given), defaults=defaults, ask=ask)


def create(destination: Path, wanted: Order) -> answers.Answers | None:
    """Render into a new or empty folder, or an empty clone, and commit the result.

    Raises:
        UsageError: the destination is in use, or the template refuses an answer.
        KitFailure: copier or git is missing, git refuses, or the disk is full.
    """
    git.require()
    _refuse_taken(destination)
    made = render(wanted, destination)
    git.git(destination, "init", "--quiet", "--initial-branch", "main")
    _remember(destination, destination)
    git.commit_all(destination, MESSAGE)
    return made


def _refuse_taken(destination: Path) -> None:
    if not os.path.lexists(destination):
        return
    inside = {path.name for path in destination.iterdir()} if destination.is_dir() else {""}
    if inside - {".git"}:
        adopt = (
            msg(", or add to it: npu-adapter new --here {destination}", destination=destination)
            if ".git" in inside
            else ""
        )
        raise UsageError(
            msg(
                "{destination} is there and not empty: name a new folder{adopt}",
                destination=destination,
                adopt=adopt,
            )
        )
    if inside and git.has_commits(destination):
        raise UsageError(
            msg(
                "{destination} has commits, but not their files: git restore . brings them back",
                destination=destination,
            )
        )


def _remember(repository: Path, rendered: Path) -> None:
    """Record the id of the rendered tree, by which `update` recognizes the commit that contains it."""
    with tempfile.TemporaryDirectory(prefix=prefix()) as scratch:
        trees = git.Trees(repository, Path(scratch))
        tree = trees.without(trees.of_folder(rendered), (answers.ANSWERS_FILE, KIT_FOLDER))
    answers.record(rendered, rendering=tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The result of `new --here`.

    Attributes:
        added: files that were missing.
        differing: existing files that differ from the template's; they were left alone.
        in_the_way: files that could not be added, since something else has their place.
        diff: from the author's files to the template's, without secrets.
    """

    added: tuple[str, ...]
    differing: tuple[str, ...]
    in_the_way: tuple[str, ...]
    diff: str


def adopt(repository: Path, wanted: Order) -> Adoption:
    """Add the template's files that a repository lacks; nothing is overwritten, nothing is committed.

    Raises:
        UsageError: it is not a git repository, was made from a template before, or the template refuses an answer.
        KitFailure: copier or git is missing, or the disk is full.
    """
    git.require()
    if not (repository / ".git").exists():
        raise UsageError(
            msg(
                "{repository} is not the folder of a git repository: git init makes it one",
                repository=repository,
            )
        )
    if (repository / answers.ANSWERS_FILE).exists():
        raise UsageError(
            msg(
                "{repository} was made from a template before: npu-adapter update {repository}",
                repository=repository,
            )
        )
    with tempfile.TemporaryDirectory(prefix=prefix()) as scratch:
        rendered = Path(scratch) / "rendered"
        render(wanted, rendered)
        _remember(repository, rendered)
        return _add(repository, rendered)


def _add(repository: Path, rendered: Path) -> Adoption:
    added: list[str] = []
    differing: list[str] = []
    blocked: list[str] = []
    diff: list[str] = []
    for source in sorted(path for path in rendered.rglob("*") if path.is_file()):
        name = source.relative_to(rendered).as_posix()
        target = repository / name
        if target.is_file():
            if target.read_bytes() != source.read_bytes():
                differing.append(name)
                diff.extend(_diff(name, target, source))
        elif _blocked(repository, target):
            blocked.append(name)
        else:
            _place(source, target)
            added.append(name)
    shown = without_secrets(
        "".join(diff)
    )  # the author's files may have keys, and terminals are recorded
    return Adoption(
        added=tuple(added), differing=tuple(differing), in_the_way=tuple(blocked), diff=shown
    )


def _blocked(repository: Path, target: Path) -> bool:
    """Whether the target exists, or a folder above it is a link or something else."""
    above = [
        parent
        for parent in target.parents
        if parent != repository and parent.is_relative_to(repository)
    ]
    return os.path.lexists(target) or any(
        os.path.lexists(parent) and (parent.is_symlink() or not parent.is_dir()) for parent in above
    )


def _place(source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    except OSError as error:
        raise KitFailure(
            msg("cannot write {target}: {reason}", target=target, reason=reason_of(error))
        ) from error


def _diff(name: str, ours: Path, template: Path) -> Iterator[str]:
    """The diff from the author's file to the template's, as git shows it."""
    if max(ours.stat().st_size, template.stat().st_size) > MAX_SHOWN_BYTES:
        yield msg("{name} is too long to be shown\n", name=name)
        return
    before, after = (_lines(path) for path in (ours, template))
    for line in difflib.unified_diff(before, after, f"{name} (yours)", f"{name} (the template's)"):
        yield line if line.endswith("\n") else f"{line}\n"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)


def given_on(answer: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Carry answers over to the next rendering; the kit's address is renewed, the rest stays."""
    now = dict(answer)
    if str(answer.get("kit", "")).startswith("git+") and kit.address():
        now["kit"] = kit.address()
    return now
