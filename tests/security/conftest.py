from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def turn() -> Iterator[None]:
    """One of these tests at a time: they share one ordinary user, and an attack may kill all of its processes."""
    place = Path(tempfile.gettempdir(), f"npu-adapter-security-tests-{os.geteuid()}")
    with place.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
