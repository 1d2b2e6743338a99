"""Paths as people type them, on Windows too."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

from healthcheck.errors import reason_of
from healthcheck.text.messages import msg

_DRIVE = re.compile(r"(?P<drive>[A-Za-z]):[\\/](?P<rest>.*)", re.DOTALL)


def place(text: str) -> Path:
    r"""A path; if it does not exist, backslashes are read as slashes and `C:\` as WSL's `/mnt/c`.

    Raises:
        ArgumentTypeError: it is empty, names a drive that is not mounted here, or this user may not read it.
    """
    try:
        return _found(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(
            msg("{text}: {reason}", text=text, reason=reason_of(error))
        ) from error


def new_place(text: str) -> Path:
    """The path of a file to write.

    Raises:
        ArgumentTypeError: it is empty.
    """
    if not text:
        raise argparse.ArgumentTypeError(msg("the path is empty; is a variable unset?"))
    return Path(text)


def new_report(command: str) -> Path:
    """A report folder named by the current time, in `report/`, which a generated repository's .gitignore covers."""
    return Path("report", f"{command}-{time.strftime('%Y%m%d-%H%M%S')}")


def _found(text: str) -> Path:
    path = new_place(text)
    drive = _DRIVE.fullmatch(text)
    if path.exists() or ("\\" not in text and not drive):
        return path
    if not drive:
        slashed = Path(text.replace("\\", "/"))
        return slashed if slashed.exists() else path
    rest = drive["rest"].replace("\\", "/")
    mounted = Path("/mnt", drive["drive"].lower(), rest)
    if mounted.exists():
        return mounted
    raise argparse.ArgumentTypeError(
        msg(
            "{text} is a Windows path; in WSL it would be {mounted}, which is not there",
            text=text,
            mounted=mounted,
        )
    )
