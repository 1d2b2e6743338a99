"""Reads which stub replaces a program, and which programs a package has. Imports nothing from the kit."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping

OF_SYSTEM, OF_PYTHON = "system_packages.txt", "python_packages.txt"
PLACEHOLDER = "placeholder.sh"
"""The stub of a program whose work and output only the real one knows."""
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_NAME = re.compile(r"(?:@[\w.-]+/)?[A-Za-z0-9][\w.+-]*")
_PROGRAM = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}")


def package_name(word: str) -> str:
    """The name of a package in a requirement with a version, an architecture or extras."""
    found = _NAME.match(word)
    return found[0].partition("/")[2] or found[0] if found else ""


def of_package(package: str, table: str) -> tuple[str, ...]:
    """The programs of a package. One that is in no table has a program of its own name, which may not exist."""
    own = dict.fromkeys(
        name for name in (package, package.replace("_", "-")) if _PROGRAM.fullmatch(name)
    )
    return _programs(table).get(package.lower().replace("_", "-"), tuple(own))


def is_known(package: str, table: str) -> bool:
    """Whether the table has the programs of a package."""
    return package.lower().replace("_", "-") in _programs(table)


def package_with(program: str, table: str) -> str:
    """The package that has a program; "" if no package in the table has it."""
    return next((package for package, names in _programs(table).items() if program in names), "")


def stub_of(program: str) -> str:
    """The script that replaces a program."""
    return _stubs().get(program, PLACEHOLDER)


@functools.cache
def _programs(table: str) -> Mapping[str, tuple[str, ...]]:
    rows = (line.partition(":") for line in _lines(table) if not line.startswith("#"))
    return {
        package.replace("_", "-"): tuple(names.split())
        for packages, _, names in rows
        for package in packages.split()
    }


@functools.cache
def _stubs() -> Mapping[str, str]:
    rows = (line.partition(":") for line in _lines("programs.txt"))
    return {name: script for script, _, names in rows for name in names.split()}


def _lines(name: str) -> list[str]:
    with open(f"{_FOLDER}/{name}", encoding="ascii") as file:
        return file.read().splitlines()
