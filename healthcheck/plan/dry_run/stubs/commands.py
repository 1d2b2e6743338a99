"""The programs that a project of the submission brings when it is installed (console scripts)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_TABLE = re.compile(
    r"^\s*\[(?:project\.scripts|tool\.poetry\.scripts)\]\s*$(.*?)(?=^\s*\[|\Z)", re.MULTILINE | re.DOTALL
)
_LIST = re.compile(r"console_scripts[\"']?\s*[=:](.*?)(?:\]|^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(
    r"[\"']?\b([A-Za-z0-9][\w.-]{0,99})[\"']?\s{0,20}=\s{0,20}[\"']?([\w.]{1,200})\s{0,20}:\s{0,20}([\w.]{1,200})"
)
_FILE_BYTES = 256 * 1024
_PROGRAM = """#!/usr/bin/env python3
import sys
from {module} import {top}
sys.exit({function}())
"""


def install(words: list[str]) -> None:
    """Write the programs of the projects among the words of `pip install` to the first folder that has room."""
    folders = (place for place in os.environ.get("PATH", "").split(":") if os.access(place, os.W_OK))
    folder = next(folders, None)
    for word in words if folder else ():
        for name, module, function in _of_project(word.partition("[")[0]):
            place = f"{folder}/{name}"
            if not os.path.lexists(place):
                with open(place, "w", encoding="utf-8") as file:
                    top = function.partition(".")[0]
                    file.write(_PROGRAM.format(module=module, top=top, function=function))
                os.chmod(place, 0o755)  # noqa: S103 - a program


def _of_project(place: str) -> Iterator[tuple[str, str, str]]:
    """Names of programs, with the module and the function behind each."""
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
