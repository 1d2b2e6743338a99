"""The kit's own template: its folder, questions and version, and the earlier versions that the kit keeps."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck import __version__
from healthcheck.core.records import JsonValue
from healthcheck.errors import KitFailure, UsageError
from healthcheck.system import yaml_text
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import Message, msg

PACKAGE = Path(__file__).resolve().parents[1]
KEPT = Path(__file__).resolve().with_name("kept")
"""One archive for each released version, named after it; scripts/keep_template.py writes them."""
NAME = "npu-adapter-kit"
"""The template's name in a repository's answers, wherever the kit was."""
PLANNED = "planned"
FORMS = ("plain", PLANNED)
"""The forms of a repository, answers to the question `form`."""
OF_EARLIER: Mapping[str, JsonValue] = {"form": PLANNED, "ci": "both", "machines": "several"}
"""What every repository was before these questions: the answers of one that was not asked."""
_FILES = ("copier.yml", "deploy.sh")
_JUNK = re.compile(r"__pycache__|.*\.pyc|\..*_cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of the template.

    Attributes:
        choices: the possible answers; empty if any text is possible.
        labels: the choices' labels on a terminal; empty if they are their own labels.
    """

    name: str
    help: str
    choices: tuple[str, ...]
    labels: tuple[str, ...] = ()


def template_folder() -> Path:
    """The folder of the kit's template: in the wheel, or in the checkout that the kit runs from.

    Raises:
        KitFailure: it is missing.
    """
    for folder in (PACKAGE / "template", PACKAGE.parent):
        if (folder / "copier.yml").is_file():
            return folder
    raise KitFailure(
        msg("the template is missing from this installation of the kit: install it again")
    )


def export(destination: Path) -> str:
    """Copy the template into a folder; returns the version of its files."""
    source = template_folder()
    for path in paths(source):
        (destination / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / path, destination / path)
    return version_of(destination)


def paths(source: Path) -> tuple[str, ...]:
    """The template's files, relative to its folder; links of a checkout are followed."""
    found = list(_FILES)
    for folder, folders, names in os.walk(source / "templates", followlinks=True):
        folders[:] = [name for name in folders if not _JUNK.fullmatch(name)]
        found += [
            os.path.relpath(f"{folder}/{name}", source)
            for name in names
            if not _JUNK.fullmatch(name)
        ]
    return tuple(sorted(found))


def version_of(folder: Path) -> str:
    """The kit's version and a digest of the exported files: the template also changes between releases."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return f"{__version__}-{digest.hexdigest()[:12]}"


def earlier(version: str, folder: Path) -> Path | None:
    """Unpack a version that the kit keeps into a folder; None if it keeps no such version."""
    archive = next((each for each in KEPT.glob("*.zip") if each.stem == version), None)
    if archive is None:
        return None
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            Path(packed.extract(entry, folder)).chmod(entry.external_attr >> 16 & 0o777 or 0o644)
    return folder


def questions() -> tuple[Question, ...]:
    """The questions of the kit's own template, in its order."""
    document = yaml_text.load((template_folder() / "copier.yml").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return tuple(
        Question(
            name=name,
            help=str(entry.get("help", "")),
            choices=_choices(entry.get("choices")),
            labels=tuple(map(str, names))
            if isinstance(names := entry.get("choices"), dict)
            else (),
        )
        for name, entry in document.items()
        if isinstance(entry, dict)
    )


def _choices(choices: object) -> tuple[str, ...]:
    values = choices.values() if isinstance(choices, dict) else choices or ()
    return (
        tuple(str(value) for value in values)
        if isinstance(values, Sequence | type({}.values()))
        else ()
    )


def ask_in_language(folder: Path, say: Callable[[str], str]) -> None:
    """Translate the questions of an exported template; its files stay the same."""
    file = folder / "copier.yml"
    text = file.read_text(encoding="utf-8")
    for question in questions():
        text = text.replace(f"help: {question.help}\n", f"help: {say(Message(question.help))}\n")
        for label in question.labels:
            text = text.replace(f"    {label}: ", f"    {say(Message(label))}: ")
    file.write_text(text, encoding="utf-8")


def check_answers(answers: Mapping[str, str]) -> None:
    """Check answers against the kit's own template.

    Raises:
        UsageError: the template has no such question or choice; the message lists the valid ones.
    """
    asked = {question.name: question for question in questions()}
    for name, answer in answers.items():
        if name not in asked:
            raise UsageError(
                msg(
                    "the template does not ask for {name}; it asks for {asked}",
                    name=repr(name),
                    asked=", ".join(asked),
                )
            )
        choices = asked[name].choices
        if choices and answer not in choices:
            raise UsageError(
                msg(
                    "{name} is {answer}; the choices are {choices}{hint}",
                    name=name,
                    answer=repr(answer),
                    choices=", ".join(choices),
                    hint=hint(answer, choices),
                )
            )
