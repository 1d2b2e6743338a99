"""The host of an attack, and the kit as each kind of user finds it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.world import NOBODY, STRANGERS_PYTHON, Host, Setup, host, package_for


@pytest.fixture(scope="session")
def packages() -> Iterator[dict[bool, tuple[str, Path]]]:
    """The interpreter and the kit for each kind of user."""
    with tempfile.TemporaryDirectory(prefix="npu-adapter-test-") as folder:
        os.chmod(folder, 0o755)
        yield {
            ordinary: package_for(ordinary, Path(folder, str(ordinary)))
            for ordinary in (False, True)
        }


@pytest.fixture
def turn(setup: Setup) -> Iterator[None]:
    """One test at a time as the ordinary user, all of whose processes an attack may kill."""
    if not setup.ordinary:
        yield
        return
    if os.geteuid() != 0 or not os.access(STRANGERS_PYTHON, os.X_OK):
        pytest.skip("becoming another user takes root, and a Python that every user can run")
    with Path(tempfile.gettempdir(), f"npu-adapter-attacks-{os.geteuid()}").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def world(setup: Setup, turn: None) -> Iterator[Host]:
    """The host of one attack, with folders `repo` and `weights` beside its own."""
    base = Path(tempfile.mkdtemp(prefix="npu-adapter-test-"))
    os.chmod(base, 0o755)
    owner = NOBODY if setup.ordinary else os.geteuid()
    for name in ("repo", "weights", "temporary"):
        (base / name).mkdir()
        os.chown(base / name, owner, owner)
    (base / "weights/config.json").write_text('{"model_type": "qwen3"}')
    (base / "weights/model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    for place in (base / "weights").iterdir():
        os.chown(place, owner, owner)
    try:
        with host(base, owner=owner) as found:
            yield found
    finally:
        shutil.rmtree(base, ignore_errors=True)
