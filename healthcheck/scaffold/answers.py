"""The answers file of a generated repository: its template, that version, and the answers to the questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError
from healthcheck.scaffold import template
from healthcheck.system import yaml_text
from healthcheck.system.files import read_bounded, write_atomically
from healthcheck.system.yaml_text import YamlError
from healthcheck.text.messages import msg

ANSWERS_FILE = ".copier-answers.yml"
MAX_ANSWERS_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers of a repository.

    Attributes:
        source: template.NAME for the kit's own template, else a git address or a folder.
        version: of the template: the kit's own numbering, or git's description of a commit; "" for a plain folder.
        rendering: id of the tree that the template made, without this file and KIT_FOLDER; "" if unknown.
        given: question → answer.
    """

    source: str
    version: str
    rendering: str
    given: Mapping[str, JsonValue]

    @property
    def own(self) -> bool:
        """Whether it was made from the kit's own template."""
        return self.source == template.NAME


def read(repository: Path) -> Answers:
    """Read the answers of a repository.

    Raises:
        UsageError: the repository has none.
    """
    file = repository / ANSWERS_FILE
    if not file.is_file():
        raise UsageError(
            msg(
                "{repository} was not made by `npu-adapter new`: it has no {answers_file}",
                repository=repository,
                answers_file=ANSWERS_FILE,
            )
        )
    return parse(read_bounded(file, MAX_ANSWERS_BYTES).decode("utf-8", "replace"), str(file))


def parse(text: str, name: str) -> Answers:
    """Parse an answers file; messages call it `name`.

    Raises:
        UsageError: the text has no answers.
    """
    try:
        document = yaml_text.load(text)
    except YamlError as error:
        raise UsageError(msg("{name} cannot be read: {error}", name=name, error=error)) from error
    if (
        not isinstance(document, dict)
        or not all(map(_is_text, document))
        or not document.get("_src_path")
    ):
        raise UsageError(msg("{name} has no answers in it; `npu-adapter new` writes it", name=name))
    return Answers(
        source=str(document["_src_path"]),
        version=str(document.get("_commit") or ""),
        rendering=str(document.get("_rendering") or ""),
        given={key: value for key, value in document.items() if not key.startswith("_")},
    )


def _is_text(name: object) -> bool:
    return isinstance(name, str)


def record(repository: Path, **facts: str) -> None:
    """Write facts about the template into the answers file; does nothing if the template makes no such file."""
    file = repository / ANSWERS_FILE
    if not file.is_file():
        return
    text = file.read_text(encoding="utf-8")
    document = yaml_text.load(text)
    if not isinstance(document, dict):
        return
    head = [line for line in text.splitlines() if line.startswith("#")]
    values = {f"_{name}": value for name, value in facts.items() if value}
    lines = [
        f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in sorted(
            (document | values).items(), key=lambda item: not item[0].startswith("_")
        )
    ]
    write_atomically(file, "\n".join([*head, *lines, ""]).encode())
