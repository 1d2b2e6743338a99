"""examples/simulated_engine: a `vllm serve` that needs no folder of a certain name beside it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.wire.client import Client

pytestmark = pytest.mark.process

BIN = Path(__file__).parents[2] / "examples" / "simulated_engine" / "bin"
KIT = Path(sys.executable).parent / "npu-adapter"


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """The engine in a checkout that has no .venv."""
    copy = tmp_path / "checkout" / "examples" / "simulated_engine" / "bin"
    shutil.copytree(BIN, copy)
    return copy / "vllm"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH: what the script itself needs, and no kit."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "dirname").symlink_to(shutil.which("dirname") or "")
    return folder


def test_the_engine_finds_the_kit_on_path(engine: Path, programs: Path) -> None:
    (programs / "npu-adapter").symlink_to(KIT)
    command = [engine, "serve", "a-model", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        command, env={"PATH": str(programs)}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        line = process.stderr.readline()
        try:
            assert line.startswith("SIMULATED endpoint")
            url = next(word for word in line.split() if word.startswith("http://"))
            assert Client(url).models().status == 200
        finally:
            process.terminate()


def test_the_engine_says_that_the_kit_is_missing(engine: Path, programs: Path) -> None:
    done = subprocess.run(
        [engine, "serve", "a-model"],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 127
    assert "npu-adapter is not installed" in done.stderr
