"""Shared functions of the programs. Their folder is first on Python's path, since each is run by its file."""

import json
import sys
from typing import Any


def say(step: str, **fields: object) -> None:
    """Print in one write, beginning with a line end: other ranks and libraries write to the same stream."""
    sys.stdout.write("\n@npu-adapter " + json.dumps({"step": step, **fields}) + "\n")
    sys.stdout.flush()


def said(error: BaseException) -> str:
    """The error on one line."""
    return f"{type(error).__name__}: {error}"[:4000]


def any_runs(programs: "list[Any]") -> bool:
    """Whether a program still runs."""
    return None in [process.poll() for process in programs]
