"""Starts programs by absolute paths and with an isolated Python, whatever the working directory."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from healthcheck.errors import KitFailure, UsageError
from healthcheck.text.messages import msg

PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
"""The folder from which a child process imports the kit."""
_BOOTSTRAP = Path(__file__).resolve().with_name("isolated.py")


def search_path(path: str | None = None) -> str:
    """The search path (PATH by default) without entries that are relative to the working directory."""
    entries = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def find(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program; None if no absolute folder of the search path has it."""
    if os.sep in name:
        return name if os.path.isabs(name) and os.access(name, os.X_OK) else None
    folders = search_path(path)
    return shutil.which(name, path=folders) if folders else None


def find_or_name(name: str) -> str:
    """The absolute path of a program, or a path that does not exist, so that starting it fails as usual."""
    return name if os.path.isabs(name) else find(name) or f"/nonexistent/{name}"


def python() -> str:
    """The absolute path of this interpreter.

    Raises:
        KitFailure: Python does not know its own path.
    """
    if not sys.executable or not os.path.isabs(sys.executable):
        raise KitFailure(msg("this Python does not know its own executable"))
    return sys.executable


def python_at(place: str, named_by: str) -> Path:
    """The Python of a virtual environment, or the file itself; links are not resolved: a venv's python is a link.

    Raises:
        UsageError: there is no Python; the message contains `named_by`.
    """
    path = Path(place).expanduser().absolute()
    path = path / "bin" / "python" if path.is_dir() else path
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UsageError(
            msg(
                "{named_by} {place}: there is no Python; name one, or a virtual environment",
                named_by=named_by,
                place=place,
            )
        )
    return path


def isolated(module: str, *arguments: str, folders: Iterable[str] = ()) -> tuple[str, ...]:
    """The command that runs `module.main()` of the kit in an isolated interpreter.

    It imports from the standard library, the kit and `folders`, in that order, and ignores PYTHONPATH, the working
    directory and site-packages.
    """
    places = os.pathsep.join((str(PACKAGE_FOLDER), *folders))
    return (python(), "-I", "-S", "-X", "utf8", str(_BOOTSTRAP), places, module, *arguments)
