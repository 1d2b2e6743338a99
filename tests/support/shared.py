"""Recorded third-party files that lie beside the clone, and are no part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2].parent / "shared"


def shared(path: str) -> Path:
    """A file or folder of the shared material; the test is skipped where it is absent."""
    found = _ROOT / path
    if not found.exists():
        pytest.skip(f"needs the recorded files in ../shared/{path}")
    return found
