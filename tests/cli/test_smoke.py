"""Each command once as a user starts it: as a process of its own, with real work to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthcheck.cli import COMMANDS
from tests.support.template import ROOT

pytestmark = pytest.mark.smoke
WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"
KIT = [sys.executable, "-m", "healthcheck"]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands work, one after the other."""
    folder = tmp_path_factory.mktemp("smoke")
    (folder / "deploy.log").write_text("ModuleNotFoundError: No module named 'torch_npu'\n")
    return folder


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of `npu-adapter simulate`."""
    with subprocess.Popen(
        [*KIT, "simulate", "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        yield next(
            word for word in server.stderr.readline().split() if word.startswith("http://")
        ).rstrip(",")
        server.terminate()
        assert server.wait() == 0


def ran(room: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [*KIT, *words],
        cwd=room,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_new_repository_is_ready_and_up_to_date(room: Path) -> None:
    status, said = ran(room, "new", "adapter", "--defaults")
    assert status == 0, said
    status, said = ran(room, "verify", "adapter", "--weights", str(WEIGHTS), "--until", "weights")
    assert status == 0, said
    assert "Verdict: ready for text-generation" in said
    status, said = ran(room, "update", "adapter")
    assert (status, said.startswith("already up to date")) == (0, True), said


def test_a_launch_is_planned(room: Path) -> None:
    status, said = ran(room, "plan", "--weights", str(WEIGHTS), "--npu", "A3")
    assert (status, 'exec vllm serve "$MODEL_PATH"' in said) == (0, True), said


def test_a_server_is_measured(room: Path, url: str) -> None:
    status, said = ran(room, "probe", url, "--problems", "30", "--samples", "2", "--out", "run")
    assert status == 0, said


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("explain", "plan/port"), 0, "8000"),
        (("service",), 0, "100 GB"),
        (("diagnose", "deploy.log"), 0, "torch_npu"),
        (("doctor",), 0, "git version"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_does_what_it_is_for(
    room: Path, words: tuple[str, ...], status: int, says: str
) -> None:
    done = ran(room, *words)
    assert done[0] == status, done[1]
    assert says in done[1]


def test_no_command_is_left_out() -> None:
    text = Path(__file__).read_text("utf-8")
    assert [name for name in COMMANDS if f'"{name}"' not in text] == []
