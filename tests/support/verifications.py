"""The whole command, on an adapter from the template, against the simulated engine on the real port 8000."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.port import the_port
from tests.support.template import ROOT

ENGINE = ROOT / "examples" / "simulated_engine" / "bin"
WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"


@dataclass(frozen=True)
class Verdict:
    """What a run of the command left behind."""

    status: int
    output: str
    report: dict[str, Any]

    @property
    def verdict(self) -> str:
        return self.report["verdict"]

    def failed(self) -> set[str]:
        return {check["id"] for check in self.report["checks"] if check["outcome"] == "fail"}

    def check(self, id: str) -> dict[str, Any]:
        return next(check for check in self.report["checks"] if check["id"] == id)


def kit(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "healthcheck", *map(str, arguments)]


def simulated_path() -> dict[str, str]:
    """The environment with the simulated engine first on PATH, and last the programs of this Python's environment."""
    folders = (str(ENGINE), os.environ["PATH"], str(Path(sys.executable).parent))
    return {**os.environ, "PATH": os.pathsep.join(folders), "PYTHON": sys.executable}


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    destination = tmp_path_factory.mktemp("pristine") / "my-adapter"
    subprocess.run(
        kit("new", destination, "--template", "planned", "--defaults"),
        check=True,
        capture_output=True,
    )
    return destination


@pytest.fixture
def adapter(pristine: Path, tmp_path: Path) -> Path:
    """The template's repository as `npu-adapter new` makes it."""
    return Path(shutil.copytree(pristine, tmp_path / "my-adapter", symlinks=True))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WEIGHTS, tmp_path / "weights"))


@pytest.fixture
def verify(tmp_path: Path) -> Callable[..., Verdict]:
    """Runs `npu-adapter verify`, and afterwards nothing may be left of it."""

    def run(*arguments: str | Path) -> Verdict:
        saved = tmp_path / "report.json"
        done = subprocess.run(
            kit("verify", *arguments, "--json", saved, "--out", tmp_path / "out", "--problems", "12"),
            env=simulated_path(), capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        output = done.stdout + done.stderr
        assert "Traceback" not in output, output
        assert saved.is_file(), output
        return Verdict(done.returncode, output, json.loads(saved.read_text("utf-8")))

    return run


@pytest.fixture
def port() -> Iterator[Callable[[], bool]]:
    with the_port() as is_free:
        yield is_free


def commit(repository: Path, message: str = "sabotage") -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", repository, "add", "--all"], check=True)
    subprocess.run(
        ["git", "-C", repository, *identity, "commit", "--quiet", "-m", message], check=True
    )
