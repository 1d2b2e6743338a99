"""Recorded outputs of other programs: minimal ones of this repository, or whole ones (CONTRIBUTING.md, "Recordings")."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SETTING = "NPU_ADAPTER_RECORDINGS"
MINIMAL = Path(__file__).parents[1] / "recordings"


def recording(path: str) -> Path:
    """A recorded file or folder, by its path below `data/`.

    Skips the test if the folder that the user set does not contain it.
    """
    found = Path(os.environ.get(SETTING) or MINIMAL) / "data" / path
    if not found.exists() and SETTING in os.environ:
        pytest.skip(f"{SETTING} has no data/{path}")
    return found
