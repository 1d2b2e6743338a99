"""Finds committed files that a script does not reach by its path, and the path from the folder of deploy.sh."""

from __future__ import annotations

import itertools
import posixpath
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from healthcheck import contract
from healthcheck.core.edits import in_words, inserted_below, replaced
from healthcheck.core.records import Edit
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script.arguments import Arguments
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.bashisms import IN_BASH
from healthcheck.stages.repo.shell import Node, Script
from healthcheck.text.messages import msg

_FOLDER = 'cd "$(dirname "$0")" && pwd'
_IS_FOLDER = re.compile(
    r"""\$\(\s*(?:CDPATH=\s*)?cd\s+(?:-P\s+)?(?:--\s+)?"?\$\(\s*dirname\s+(?:--\s+)?"?"""
    r"""\$(?:0|BASH_SOURCE|\{0\}|\{BASH_SOURCE(?:\[0\])?\})"?\s*\)"?\s*(?:>\s*/dev/null\s*)?&&\s*pwd(?:\s+-P)?\s*\)"""
)
"""An absolute path of the folder of deploy.sh, as scripts usually determine it."""
_PLAIN = re.compile(r"[\w./@+, -]+")
"""A path without characters that a shell changes between double quotes."""
_NAMES = ("HERE", "REPOSITORY", "ADAPTER_FOLDER")
_CHANGE_VARIABLES = {"read", "mapfile", "readarray", "getopts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A command that changes the working directory, and its line of deploy.sh."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFolder:
    """A variable of deploy.sh with the absolute path of its folder.

    Attributes:
        edits: define it; empty if the script does.
    """

    name: str
    edits: tuple[Edit, ...] = ()

    def path(self, inside: str) -> str:
        """A word of the shell for a file of the repository, whose path `is_plain`."""
        return f'"${self.name}/{inside}"'


def is_plain(path: str) -> bool:
    """Whether a shell changes nothing in a path between double quotes."""
    return _PLAIN.fullmatch(path) is not None


def committed_path(plan: LaunchPlan, name: str) -> str:
    """The committed file or folder that a path means; "" if there is none.

    A relative path means the file below the root. An absolute one outside the repository's copy means the file of
    the author's checkout, or the committed file with the longest common end.
    """
    path = posixpath.normpath(name)
    for root in (plan.root, plan.given_root):
        if root and path.startswith(f"{root}/"):
            path = path[len(root) + 1 :]
    if not is_plain(path):
        return ""
    parts = [part for part in path.split("/") if part]
    starts = range(len(parts)) if path.startswith("/") else (0,)
    ends = ("/".join(parts[start:]) for start in starts)
    return next((end for end in ends if end and is_committed(plan, end)), "")


def reached(plan: LaunchPlan, name: str, inside: str, option: str = "") -> tuple[Edit, ...]:
    """Name a committed file by a path from the folder of deploy.sh; () if its path is not written once."""
    folder = own_folder(plan.script, plan.script.find(name))
    made = renamed(plan, name, folder.path(inside), option)
    return (*made, *folder.edits) if made else ()


def renamed(plan: LaunchPlan, name: str, right: str, option: str = "") -> tuple[Edit, ...]:
    """Replace a path by a word between double quotes: as the value of an option, or inside an object.

    There are no edits if the script does not write the path exactly once.
    """
    arguments = Arguments.of(plan.script, plan.server)
    at = arguments.option(option) if option else None
    made = arguments.revalued(at, name, right) if at is not None else ()
    return made or _in_json(plan.script, name, right) or _in_here_document(plan.script, name, right)


def committed_folder(plan: LaunchPlan, name: str) -> str:
    """The only committed folder with the last part of a name, such as that of a model on a hub.

    "" for none, or if a shell would change its path.
    """
    last = posixpath.basename(name.rstrip("/"))
    parents = (PurePosixPath(path).parents for path in plan.committed if f"{last}/" in path)
    found = {str(parent) for each in parents for parent in each if parent.name == last}
    only = found.pop() if len(found) == 1 and last else ""
    return only if is_plain(only) else ""


def order(plan: LaunchPlan, name: str, inside: str) -> str:
    """The repair in words, if it cannot be given exactly."""
    folder = own_folder(plan.script, plan.script.find(name))
    write = msg("write {right} in place of {wrong}", right=folder.path(inside), wrong=name)
    return (
        msg("{order}; {edits}", edits=in_words(folder.edits), order=write)
        if folder.edits
        else write
    )


def _in_json(text: str, name: str, right: str) -> tuple[Edit, ...]:
    """Replace a path that is a string of an object between quotes, if the script has it once."""
    path = right.strip('"')
    for written, kind, new in (
        (f'"{name}"', "raw_string", f"\"'{right}'\""),
        (f'\\"{name}\\"', "string", f'\\"{path}\\"'),
    ):
        nodes = [node for node in shell.read(text).of(kind) if written in node.text]
        if len(nodes) == 1 and text.count(written) == 1 and "\r" not in text:
            start = text.index(written)
            return (replaced(contract.ENTRY_POINT, text, start, start + len(written), new),)
    return ()


def _in_here_document(text: str, name: str, right: str) -> tuple[Edit, ...]:
    """Replace a path that is a string of an object in a here-document, which the shell then expands."""
    file, written = contract.ENTRY_POINT, f'"{name}"'
    if text.count(written) != 1 or "\r" in text:
        return ()
    at = text.index(written)
    for node in shell.read(text).of("heredoc_redirect"):
        start = next(node.below("heredoc_start"), None)
        body = next(node.below("heredoc_body"), None)
        if start is None or body is None or not body.start <= at < body.end:
            continue
        word = start.text.strip("'\"\\")
        quoted = start.text != word
        if quoted and set(body.text) & set("$`\\"):
            return ()
        sign = text[node.start : start.start]
        opened = (replaced(file, text, node.start, start.end, f"{sign}{word}"),) if quoted else ()
        return (*opened, replaced(file, text, at, at + len(written), right))
    return ()


def is_committed(plan: LaunchPlan, path: str) -> bool:
    """Whether the commit has a file of that path, or a folder."""
    return path in plan.committed or any(each.startswith(f"{path}/") for each in plan.committed)


def last_change(text: str, before: int) -> Change | None:
    """The last command before a line of deploy.sh that changes the working directory."""
    script, found = shell.read(text), None
    for command in script.commands():
        line = script.line(command.start)
        if command.name in {"cd", "pushd"} and line < before and len(command.words) > 1:
            found = Change(line=line, text=command.node.text[:200])
    return found


def own_folder(text: str, before: int) -> OwnFolder:
    """The variable with the folder of deploy.sh, which the script has or gets.

    The script has it if its only assignment runs in any case, above the offset `before` where the variable is used.
    """
    script = shell.read(text)
    changes = [command.start for command in script.commands() if command.name in {"cd", "pushd"}]
    for node in script.of("variable_assignment"):
        value = node.part("value")
        early = node.end <= before and (not changes or node.start < min(changes))
        is_folder = value is not None and _IS_FOLDER.fullmatch(value.text.strip('"'))
        if is_folder and early and _is_top_level(node) and _is_set_once(script, node.name):
            return OwnFolder(name=node.name)
    numbered = (f"{_NAMES[0]}_{number}" for number in itertools.count(2))
    name = next(each for each in itertools.chain(_NAMES, numbered) if each not in text)
    line = first_free_line(text)
    return OwnFolder(
        name=name,
        edits=(inserted_below(contract.ENTRY_POINT, line, f"{name}=$({_FOLDER})"),),
    )


def _is_top_level(assignment: Node) -> bool:
    """Whether an assignment, or the `export` or `readonly` around it, is a statement of the script itself."""
    around = assignment.parent
    if around is not None and around.kind == "declaration_command":
        if not around.text.startswith(("export", "readonly")):
            return False
        around = around.parent
    return around is not None and around.kind == "program"


def _is_set_once(script: Script, name: str) -> bool:
    """Whether a script sets a variable in a single place: no loop, `read` or `unset` changes it."""
    assigned = sum(node.name == name for node in script.of("variable_assignment", "for_statement"))
    changed = any(
        word.value == name
        for command in script.all_commands()
        if command.name in _CHANGE_VARIABLES or command.node.kind == "unset_command"
        for word in command.words
    )
    return assigned == 1 and not changed


def first_free_line(text: str) -> int:
    """The line of deploy.sh below which its commands begin: below its first line, and the one that starts bash.

    `exec bash "$0"` has to come first: a relative $0 no longer leads to the script after `cd`.
    """
    lines = text.split("\n", 2)
    above = int(text.startswith("#!"))
    return above + int(len(lines) > above and lines[above].strip() == IN_BASH)
