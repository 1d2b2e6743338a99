"""Adapter repositories from the template: rendered and updated by copier, kept by git. The one user of copier."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shlex
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from healthcheck import programs, yaml_text
from healthcheck.errors import KitError, KitFailure, UsageError
from healthcheck.files import read_bounded
from healthcheck.nearest import hint
from healthcheck.records import JsonValue

INSTALL = "pip install 'npu-adapter-kit[scaffold]'"
PACKAGE = Path(__file__).resolve().parent
ANSWERS_FILE = ".copier-answers.yml"
MAX_ANSWERS_BYTES = 64 * 1024
OWN_IDENTITY = ("-c", "user.name=npu-adapter", "-c", "user.email=npu-adapter@localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of the template; `choices` is empty if any text may answer it."""

    name: str
    help: str
    choices: tuple[str, ...]


def template_folder() -> Path:
    """The template that the kit brings: a folder of the wheel, or the checkout that the kit runs from.

    Raises:
        KitFailure: it is not there.
    """
    for folder in (PACKAGE / "template", PACKAGE.parent):
        if (folder / "copier.yml").is_file():
            return folder
    raise KitFailure(f"the template is missing from this installation: {INSTALL}")


def questions() -> tuple[Question, ...]:
    """The questions of the kit's own template, in its order."""
    document = yaml_text.load((template_folder() / "copier.yml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return tuple(
        Question(name=name, help=str(entry.get("help", "")), choices=_choices(entry.get("choices")))
        for name, entry in document.items()
        if isinstance(entry, dict)
    )


def _choices(choices: object) -> tuple[str, ...]:
    values = choices.values() if isinstance(choices, dict) else choices or ()
    return tuple(str(value) for value in values) if isinstance(values, Sequence | type({}.values())) else ()


def check_answers(answers: Mapping[str, str]) -> None:
    """Compare answers with the kit's own template.

    Raises:
        UsageError: the template has no such question or choice; the message lists the right ones.
    """
    asked = {question.name: question for question in questions()}
    for name, answer in answers.items():
        if name not in asked:
            raise UsageError(f"the template does not ask for {name!r}; it asks for {', '.join(asked)}")
        choices = asked[name].choices
        if choices and answer not in choices:
            raise UsageError(f"{name} is {answer!r}; the choices are {', '.join(choices)}{hint(answer, choices)}")


def create(destination: Path, answers: Mapping[str, str], *, template: str | None, ask: bool) -> None:
    """Render the template into an empty or new folder and commit the result.

    `template` is a git address or a folder, None for the kit's own. What `answers` leaves open is asked on the
    terminal, or takes the template's default.

    Raises:
        UsageError: the destination is taken, or the template refuses an answer.
        KitFailure: copier or git is missing, git refuses, or the disk is full.
    """
    _require_git()
    if os.path.lexists(destination) and (not destination.is_dir() or any(destination.iterdir())):
        raise UsageError(f"{destination} is there and not empty: name a new folder")
    source, reference = _source(template)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copier = _copier()
        try:
            copier.run_copy(
                source, destination, data=dict(answers), user_defaults=_default_name(destination),
                defaults=not ask, vcs_ref=reference, quiet=True,
            )  # fmt: skip
        except (copier.errors.CopierError, ValueError, OSError, subprocess.SubprocessError) as error:
            raise _refusal(error, f"the template at {source} cannot be rendered: {_one_line(error)}") from error
    _commit_all(destination)


def _default_name(destination: Path) -> dict[str, str]:
    """The folder's name, if it can be that of a repository."""
    name = destination.resolve().name
    return {"name": name} if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """An update of a repository from the template at `source`.

    Attributes:
        before, after: the template's versions, as git describes them; equal if there was nothing new.
        changes: the changed files, as git lists them; "" for none.
    """

    source: str
    before: str
    after: str
    changes: str


def update(repository: Path) -> Update:
    """Update a repository to the newest tag of its template, or to its newest commit if it has no tags.

    Raises:
        UsageError: the template's state that it was made from is nowhere to be had, or it has uncommitted changes.
    """
    _require_git()
    answers = _answers(repository)
    source, before = str(answers.get("_src_path")), answers.get("_commit")
    if not before:
        raise UsageError(
            f"{repository} was made from a plain folder, {source}, which has no versions to update from. "
            + _by_hand(repository, answers)
        )
    # Copier says three times over that a template has no tags, and --quiet does not stop it.
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        copier = _copier()
        try:
            copier.run_update(repository, defaults=True, overwrite=True, quiet=True)
        except (copier.errors.CopierError, ValueError, OSError, subprocess.SubprocessError) as error:
            raise _refusal(error, _not_updated(repository, answers, _one_line(error))) from error
    after = _answers(repository).get("_commit")
    return Update(
        source=source, before=str(before), after=str(after), changes=_git(repository, "status", "--short")
    )


def _refusal(error: Exception, said: str) -> KitError:
    """Whose failure it is: a full disk is not the template's."""
    full = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    return KitFailure(said) if full else UsageError(said)


def _not_updated(repository: Path, answers: Mapping[str, JsonValue], error: str) -> str:
    source, before = answers.get("_src_path"), answers.get("_commit")
    if "Unknown revision" in error:
        return (
            f"{repository} was made from {source} at {before}, which is not in its history: the template had "
            f"uncommitted changes then, or its history was rewritten. {_by_hand(repository, answers)}"
        )
    return f"{repository} cannot be updated from {source}, at {before} when it was made: {error}"


def _by_hand(repository: Path, answers: Mapping[str, JsonValue]) -> str:
    """How to bring a repository up to date that has no version to compare with."""
    given = [f"{name}={value}" for name, value in answers.items() if not name.startswith("_")]
    data = " ".join(f"--data {shlex.quote(text)}" for text in given)
    return (
        f"Make a fresh one with its answers, and take over what you want:\n"
        f"  npu-adapter new FRESH --defaults {data}\n"
        f"  diff -ru -x .git {shlex.quote(str(repository))} FRESH\n"
        "One that is made with --template GIT-ADDRESS, of a template with tags, can be updated later"
    )


def _answers(repository: Path) -> dict[str, JsonValue]:
    file = repository / ANSWERS_FILE
    if not file.is_file():
        raise UsageError(f"{repository} was not made by `npu-adapter new`: it has no {ANSWERS_FILE}")
    answers = yaml_text.load(read_bounded(file, MAX_ANSWERS_BYTES).decode("utf-8", "replace"))
    if not isinstance(answers, dict):
        raise UsageError(f"{file} has no answers in it; `npu-adapter new` writes it")
    return answers


def _source(template: str | None) -> tuple[str, str | None]:
    """The template's address for copier, never a relative path (it is stored for updates), and the reference."""
    if template is None:
        return str(template_folder()), "HEAD"
    return (str(Path(template).resolve()) if Path(template).exists() else template), None


def _copier() -> ModuleType:
    try:
        import copier  # noqa: PLC0415 - an extra, and slow to import
        import copier.errors  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise KitFailure(f"making a repository needs copier: {INSTALL}") from error
    return copier


def _require_git() -> None:
    if programs.find("git") is None:
        raise KitFailure("git is not installed, and an adapter is a git repository")


def _commit_all(repository: Path) -> None:
    _git(repository, "init", "--quiet", "--initial-branch", "main")
    _git(repository, "add", "--all")
    identity = () if _has_identity(repository) else OWN_IDENTITY
    message = "Adapter repository, as the template made it"
    _git(repository, *identity, "commit", "--quiet", "--no-gpg-sign", "--no-verify", "--message", message)


def _has_identity(repository: Path) -> bool:
    """Whether git has a configured author; an author that git would guess from the machine does not count."""
    try:
        _git(repository, "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        _git(repository, "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
    except KitFailure:
        return False
    return True


def _git(repository: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _OTHER_REPOSITORY}
    done = subprocess.run(
        [programs.find_or_name("git"), *arguments], cwd=repository, env=environment, capture_output=True, text=True,
        errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise KitFailure(f"git {arguments[0]} failed in {repository}: {_one_line(done.stderr)}")
    return done.stdout


_OTHER_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"})
"""Set while git runs a hook: they would send the commands above into the repository of the hook."""


def _one_line(error: object) -> str:
    return " ".join(str(error).split())
