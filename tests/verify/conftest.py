"""The fixtures of a whole verification, and the profile of another service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rooms import ROOM
from tests.support.verifications import adapter, port, pristine, verify, weights

__all__ = ("adapter", "port", "pristine", "room", "verify", "weights")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """The profile of a machine room."""
    file = tmp_path / "room.toml"
    file.write_text(ROOM, encoding="utf-8")
    return file
