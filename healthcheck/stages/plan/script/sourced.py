"""Finds the committed files that deploy.sh sources, and the variables that they assign."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.stages.plan.records import LaunchPlan, SourcedFile
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.arguments import Edits, without_assignment
from healthcheck.stages.repo import shell

MOST_FILES = 6
_DYNAMIC_FOLDER = re.compile(r".*(?:\)|\}|\$\w+)[\"']?/")
"""A folder that a shell works out, such as `"$(dirname "$0")"/`."""
_QUOTES = "\"'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwriting:
    """A line that overwrites a variable.

    Attributes:
        read_at: the line of deploy.sh that reads the file; in deploy.sh, the line itself.
    """

    file: str
    line: int
    read_at: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def sourced_files(
    script: str, paths: Sequence[str], read: Callable[[str], str]
) -> tuple[SourcedFile, ...]:
    """The files that deploy.sh sources, and those that they source, in the order in which they are found.

    `paths` are the committed files; `read` returns the text of one, "" if it is not a small text.
    """
    found: dict[str, SourcedFile] = {}
    waiting = [(path, line) for path, line in _sources(script, paths)]
    while waiting and len(found) < MOST_FILES:
        path, line = waiting.pop(0)
        if path in found or path == contract.ENTRY_POINT:
            continue
        found[path] = SourcedFile(path=path, text=read(path), read_at=line)
        waiting += [(inner, line) for inner, _ in _sources(found[path].text, paths)]
    return tuple(found.values())


def overwriting(plan: LaunchPlan, variable: str) -> Overwriting | None:
    """The first line, of deploy.sh or else of a sourced file, that overwrites the variable."""
    if number := deploy_sh.overwriting_line(plan.script, variable):
        return Overwriting(file=contract.ENTRY_POINT, line=number, read_at=number)
    for file in plan.sourced:
        if number := deploy_sh.overwriting_line(file.text, variable):
            return Overwriting(file=file.path, line=number, read_at=file.read_at)
    return None


def without_variable(plan: LaunchPlan, name: str) -> Edits:
    """Remove the only assignment of a variable, in deploy.sh or a file that it sources."""
    texts = {contract.ENTRY_POINT: plan.script} | {file.path: file.text for file in plan.sourced}
    assigning = [
        file
        for file, text in texts.items()
        if any(node.name == name for node in shell.read(text).of("variable_assignment"))
    ]
    return (
        without_assignment(assigning[0], texts[assigning[0]], name) if len(assigning) == 1 else ()
    )


def _sources(text: str, paths: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The committed files that a script sources, with the line."""
    script = shell.read(text)
    for command in script.runs("source", "."):
        if len(command.words) > 1 and (path := _committed(command.words[1].text, paths)):
            yield path, script.line(command.start)


def _committed(word: str, paths: Sequence[str]) -> str:
    """The committed file that a word of a shell means; "" if that is unknown."""
    name = _DYNAMIC_FOLDER.sub("", word).strip(_QUOTES)
    if not name or set(name) & set("$`*?"):
        return ""
    path = posixpath.normpath(name)
    below = [each for each in paths if each == path or each.endswith(f"/{path}")]
    return path if path in below else below[0] if len(below) == 1 else ""
