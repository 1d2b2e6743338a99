"""An adapter repository, and one with a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inputs import log, runs
from tests.support.repositories import GOOD_SCRIPT, repository

__all__ = ("adapter", "faulty", "log", "runs")


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return repository(tmp_path / "adapter", {"deploy.sh": GOOD_SCRIPT})


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    return repository(tmp_path / "faulty", {"scripts/deploy.sh": GOOD_SCRIPT})
