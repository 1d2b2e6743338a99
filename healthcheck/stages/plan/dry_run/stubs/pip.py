"""Stub for pip: installs nothing, and prints pip's errors for files that are certainly missing."""

from __future__ import annotations

import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator

if __name__ == "__main__":
    sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import (
    earlier_steps,
    image,
    installed,
    note,
    programs,
    wheelhouse,
)
from healthcheck.stages.repo import pip_words

SITE = os.path.realpath(f"{sys.argv[1] if len(sys.argv) > 1 else ''}/packages")
"""The folder where stubbed packages claim to be installed."""
_ARCHIVES = (".whl", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
_NAMES_A_PLACE = {
    "": "requirement",
    "--requirement": "requirements",
    "--constraint": "requirements",
    "--editable": "project",
    "--find-links": "folder",
}
_NEED_SOMETHING = ("install", "download", "wheel", "uninstall")
_GIVEN_BY_VARIABLES = ("PIP_REQUIREMENT", "PIP_EDITABLE")
"""Variables from which pip reads requirements, besides its arguments."""
_TABLE = re.compile(
    r"^\s*\[(?:project\.scripts|tool\.poetry\.scripts)\]\s*$(.*?)(?=^\s*\[|\Z)",
    re.MULTILINE | re.DOTALL,
)
_LIST = re.compile(r"console_scripts[\"']?\s*[=:](.*?)(?:\]|^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_SCRIPTS = re.compile(r"^\[console_scripts\]\s*$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY_POINTS = ".dist-info/entry_points.txt"
_ENTRY = re.compile(
    r"[\"']?\b([A-Za-z0-9][\w.-]{0,99})[\"']?\s{0,20}=\s{0,20}[\"']?([\w.]{1,200})\s{0,20}:\s{0,20}([\w.]{1,200})"
)
_FILE_BYTES = 256 * 1024
_PROGRAM = """#!/usr/bin/env python3
import sys
from {module} import {top}
sys.exit({function}())
"""


def run(arguments: list[str], program: str) -> int:
    """Print pip's output and return its exit status; installs the programs of packages and of projects.

    `program` is the path by which pip or its Python was started.
    """
    words = [value for name, value in pip_words.parsed(arguments) if not name]
    command = words[0] if words else ""
    after = arguments[arguments.index(command) + 1 :] if words else []
    if {"--version", "-V"} & set(arguments[:1]):
        print("pip 24.0")
    elif command == "show":
        print("\n---\n".join(map(_shown, words[1:])))
    elif command in {"list", "freeze"}:
        for name, version in sorted(image.packages().items()):
            print(f"{name}=={version}" if command == "freeze" else f"{name:<20} {version}")
    elif command in _NEED_SOMETHING:
        for message in _problems(command, after):
            print(message, file=sys.stderr)
            if not message.startswith("WARNING"):
                return 1
        if command != "uninstall" and not _finds_all(command, after):
            return 1
        if command == "install":
            folder = installed.folder_for_programs(program)
            _add_programs(list(pip_words.operands(after)), folder)
            for package in earlier_steps.packages(os.getcwd(), after):
                installed.add(programs.of_package(package, programs.OF_PYTHON), folder)
    return 0


def _shown(name: str) -> str:
    """The fields of one package, in pip's order."""
    version = image.packages().get(image.pip_name(name), image.UNKNOWN_VERSION)
    return (
        f"Name: {name}\nVersion: {version}\nSummary: \nHome-page: \nAuthor: \nAuthor-email: \nLicense: \n"
        f"Location: {SITE}\nRequires: \nRequired-by: "
    )


def _problems(command: str, arguments: list[str]) -> Iterator[str]:
    if pip_words.gives_nothing(arguments) and not any(map(os.environ.get, _GIVEN_BY_VARIABLES)):
        yield f'ERROR: You must give at least one requirement to {command} (see "pip help {command}")'
    for name, value in pip_words.parsed(arguments) if command != "uninstall" else ():
        if name in _NAMES_A_PLACE:
            yield from _missing(_NAMES_A_PLACE[name], value)


def _finds_all(command: str, arguments: list[str]) -> bool:
    """Record the requirements that pip does not find without an index; False if pip certainly fails."""
    for each in wheelhouse.missing(command, arguments):
        note.record(
            "python",
            calls.WITHOUT_INDEX,
            each.package,
            calls.CERTAIN if each.certain else "",
            *each.folders,
        )
        if each.certain:
            version = f"the requirement {each.package} (from versions: none)"
            print(f"ERROR: Could not find a version that satisfies {version}", file=sys.stderr)
            print(f"ERROR: No matching distribution found for {each.package}", file=sys.stderr)
            return False
    return True


def _missing(kind: str, word: str) -> Iterator[str]:
    if kind == "requirement" and not word.strip():
        yield f"ERROR: Invalid requirement: '{word}'"
    place = word.partition("[")[0] if kind in {"project", "requirement"} else word
    if not place or "://" in place or " @ " in place or os.path.exists(os.path.expanduser(place)):
        return
    if earlier_steps.may_be_there(word):
        return
    if kind == "requirements":
        yield f"ERROR: Could not open requirements file: [Errno 2] No such file or directory: '{place}'"
    elif kind == "folder":
        yield f"WARNING: Location '{place}' is ignored: it is a non-existing path or lacks a specific scheme."
    elif kind == "project":
        yield f"ERROR: {place} is not a valid editable requirement. It should be a path to a local project."
    elif place.endswith(_ARCHIVES):
        yield f"WARNING: Requirement '{place}' looks like a filename, but the file does not exist"
        where = os.path.abspath(place)
        yield f"ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: '{where}'"
    elif place.startswith(".") or "/" in place:
        yield f"ERROR: Invalid requirement: '{place}'. Hint: It looks like a path. File '{place}' does not exist."


def _add_programs(words: list[str], folder: str | None) -> None:
    """Write the programs of projects in `pip install` to a folder."""
    if folder is None:
        return
    for word in words:
        if word.endswith(".whl"):
            installed.add(_of_wheel(word), folder)
        for name, module, function in _of_project(word.partition("[")[0]):
            place = f"{folder}/{name}"
            if not os.path.lexists(place):
                with open(place, "w", encoding="utf-8") as file:
                    top = function.partition(".")[0]
                    file.write(_PROGRAM.format(module=module, top=top, function=function))
                os.chmod(place, 0o755)  # noqa: S103 - a program


def _of_wheel(place: str) -> list[str]:
    """The names of a wheel's programs. What they do is unknown, as the wheel is not installed."""
    try:
        with zipfile.ZipFile(place) as wheel:
            listed = next(
                (each for each in wheel.infolist() if each.filename.endswith(_ENTRY_POINTS)), None
            )
            if listed is None or listed.file_size > _FILE_BYTES:
                return []
            text = wheel.read(listed).decode("utf-8", "replace")
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error):
        return []
    return [name for part in _SCRIPTS.findall(text) for name, _, _ in _ENTRY.findall(part)]


def _of_project(place: str) -> Iterator[tuple[str, str, str]]:
    """The programs of a project, each as name, module and function."""
    for name, part in (("pyproject.toml", _TABLE), ("setup.cfg", _LIST), ("setup.py", _LIST)):
        if not os.path.isfile(f"{place}/{name}"):
            continue
        try:
            with open(f"{place}/{name}", encoding="utf-8", errors="replace") as file:
                text = file.read(_FILE_BYTES)
        except OSError:
            continue
        for found in part.findall(text):
            yield from _ENTRY.findall(found)


if __name__ == "__main__":
    note.record("exec", os.path.basename(sys.argv[2]), *sys.argv[3:])
    sys.exit(run(sys.argv[3:], sys.argv[2]))
