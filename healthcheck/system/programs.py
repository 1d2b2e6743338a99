"""The programs that the kit starts: by absolute paths, with an isolated Python, in any working directory."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from healthcheck.errors import KitFailure, UsageError
from healthcheck.text.messages import msg

PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
"""The folder from which a child imports the kit."""
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
    """The absolute path of a program, or one at which there is none: starting it fails as an unknown name does."""
    return name if os.path.isabs(name) else find(name) or f"/nonexistent/{name}"


def python() -> str:
    """The interpreter that runs this, as an absolute path.

    Raises:
        KitFailure: it does not know its own place.
    """
    if not sys.executable or not os.path.isabs(sys.executable):
        raise KitFailure(msg("this Python does not know its own executable"))
    return sys.executable


def python_at(place: str, named_by: str) -> Path:
    """The Python in a virtual environment, or the very file; links stay, for a venv's python is one.

    Raises:
        UsageError: there is none; the message says who named it.
    """
    path = Path(place).expanduser().absolute()
    path = path / "bin" / "python" if path.is_dir() else path
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UsageError(
            msg("{named_by} {place}: there is no Python; name one, or a virtual environment", named_by, place)
        )
    return path


def isolated(module: str, *arguments: str, folders: Iterable[str] = ()) -> tuple[str, ...]:
    """The command that runs `module.main()` of the kit in a new interpreter, blind to variables and folders.

    It imports from the standard library, the kit and `folders`, in that order; nothing is read from
    PYTHONPATH, the working directory, or site-packages.
    """
    places = os.pathsep.join((str(PACKAGE_FOLDER), *folders))
    return (python(), "-I", "-S", "-X", "utf8", str(_BOOTSTRAP), places, module, *arguments)
