"""Files recorded from other programs, outside the repository (CONTRIBUTING.md, "Recordings")."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SETTING = "NPU_ADAPTER_RECORDINGS"
BESIDE_THE_CHECKOUT = Path(__file__).parents[2].parent / "shared"
ABSENT = (
    f"needs recorded files, which are no part of the repository: name their folder in {SETTING}"
)


def recording(path: str) -> Path:
    """A recorded file or folder, by its path below `data/`; skips the test if it is missing."""
    found = Path(os.environ.get(SETTING) or BESIDE_THE_CHECKOUT) / "data" / path
    if not found.exists():
        pytest.skip(ABSENT)
    return found
