"""All known engines: the modules of this package that have LAUNCHES."""

from __future__ import annotations

import importlib
import pkgutil

from healthcheck import engines
from healthcheck.engines.base import Engine, Launch
from healthcheck.engines.unrecognised import LAUNCHES as UNRECOGNISED


def _launches() -> tuple[Launch, ...]:
    found: list[Launch] = []
    for each in pkgutil.iter_modules(engines.__path__, f"{engines.__name__}."):
        if each.name != __name__:
            found += getattr(importlib.import_module(each.name), "LAUNCHES", ())
    return tuple(found)


LAUNCHES = _launches()


def _programs() -> frozenset[str]:
    words = {program.partition(" ")[0] for launch in LAUNCHES for program in launch.programs}
    return frozenset(word for word in words if word != "-m" and ":" not in word)


def _modules() -> tuple[str, ...]:
    found = set[str]()
    for launch in LAUNCHES:
        for program in launch.programs:
            if program.startswith("-m ") and not launch.engine.web_server:
                found.add(program.split()[1])
    return tuple(sorted(found))


PROGRAMS = _programs()
"""The programs that start a server, some of them with further words."""
MODULES = _modules()
"""The Python modules that start a model server by `python -m`."""


def find(argv: tuple[str, ...]) -> tuple[Launch, tuple[str, ...]]:
    """The launch that a recorded command is, and the arguments after its words."""
    words = (argv[0].rpartition("/")[2], *argv[1:])
    best, launch, skipped = "", UNRECOGNISED[0], 1
    for each in LAUNCHES:
        for program in each.programs:
            parts, at = tuple(program.split()), int(program.startswith("-m "))
            here = words[at : at + len(parts)]
            below = (
                at
                and len(parts) == len(here) == 2
                and here[0] == "-m"
                and here[1].startswith(f"{parts[1]}.")
            )
            if (here == parts or below) and len(program) > len(best):
                best, launch, skipped = program, each, at + len(parts)
    return launch, words[skipped:]


def named(name: str) -> Engine:
    """The first engine with a name. Raises KeyError if there is none."""
    for each in LAUNCHES:
        if each.engine.name == name:
            return each.engine
    raise KeyError(name)
