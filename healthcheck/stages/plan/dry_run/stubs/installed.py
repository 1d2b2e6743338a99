"""Adds the programs of packages that the script installs, as far as their names are known."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator

if __name__ == "__main__":
    sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan.dry_run.stubs import programs

_WITH_VALUE = {
    "-t", "--target-release", "--default-release", "-o", "--option", "-c", "--config-file", "--enablerepo",
    "--disablerepo", "--repo", "--setopt", "-x", "--exclude", "--installroot", "--releasever", "-X", "--repository",
    "--prefix", "--registry", "--cache", "--pip-args", "--python", "-p", "--with", "--from", "-n", "--name",
}  # fmt: skip
"""Options of package managers whose value is not a package."""
_INSTALL = {"install", "add", "reinstall", "localinstall", "i", "ci", "tool"}
_OF_PYTHON = {"pipx", "uv"}
ACTIVATE = "activate"
"""The script by which the folder of programs of a virtual environment is recognised."""


def requested(arguments: list[str]) -> Iterator[str]:
    """The packages that a package manager installs, without versions; none if it does something else."""
    waiting = iter(arguments)
    words = []
    for word in waiting:
        if word in _WITH_VALUE:
            next(waiting, "")
        elif not word.startswith("-"):
            words.append(word)
    if words[:1] and words[0] in _INSTALL:
        yield from (programs.package_name(word) for word in words[1:] if word != "install")


def add(names: Iterable[str], folder: str | None) -> None:
    """Put programs into a folder; those that a shell finds there or on the search path stay."""
    if folder is None:
        return
    path = os.pathsep.join((folder, os.environ.get("PATH", "")))
    if folder not in os.environ.get("PATH", "").split(":"):
        path = folder
    for name in names:
        if not shutil.which(name, path=path):
            os.symlink(f"{sys.argv[1]}/{programs.stub_of(name)}", f"{folder}/{name}")


def folder_for_programs(program: str) -> str | None:
    """Where an installer puts programs: beside itself in a virtual environment, else on the search path.

    `program` is the path of pip or of its Python. None if no folder can be written to.
    """
    beside = os.path.dirname(os.path.abspath(program))
    if "/" in program and os.path.isfile(f"{beside}/{ACTIVATE}") and is_writable(beside):
        return beside
    return next(filter(is_writable, os.environ.get("PATH", "").split(":")), None)


def is_writable(folder: str) -> bool:
    """Tries it: what confines the script says nothing of itself to `access`."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def main() -> None:
    manager, arguments = os.path.basename(sys.argv[2]), sys.argv[3:]
    table = programs.OF_PYTHON if manager in _OF_PYTHON else programs.OF_SYSTEM
    for package in requested(arguments):
        add(programs.of_package(package, table), folder_for_programs(manager))


if __name__ == "__main__":
    main()
