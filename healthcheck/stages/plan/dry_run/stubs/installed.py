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


def add(names: Iterable[str]) -> None:
    """Put programs into the first writable folder of the search path; those that are there stay."""
    folder = next(filter(is_writable, os.environ.get("PATH", "").split(":")), None)
    for name in names if folder else ():
        if not shutil.which(name):
            os.symlink(f"{sys.argv[1]}/{programs.stub_of(name)}", f"{folder}/{name}")


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
        add(programs.of_package(package, table))


if __name__ == "__main__":
    main()
