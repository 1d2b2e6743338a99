"""Jobs on this machine: adapters from a template, the simulated engine, and the command as people run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.repositories import GOOD_SCRIPT, repository
from tests.support.template import ROOT

ENGINE = ROOT / "examples" / "simulated_engine" / "bin"
WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"
CARD = "# An adapter\n"


@dataclass(frozen=True)
class Ran:
    """A finished run of `fleet verify`."""

    status: int
    output: str
    out: Path

    @property
    def fleet(self) -> dict[str, Any]:
        return json.loads((self.out / "fleet.json").read_text("utf-8"))

    def verdicts(self) -> dict[str, str | None]:
        return {job["name"]: job["verdict"] for job in self.fleet["jobs"]}

    def attempts(self) -> dict[str, int]:
        return {job["name"]: len(job["attempts"]) for job in self.fleet["jobs"]}


@dataclass(frozen=True)
class Place:
    """A folder with adapters and a job file."""

    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def adapter(self, name: str, files: Mapping[str, str] | None = None) -> str:
        repository(
            self.folder / name, {"deploy.sh": GOOD_SCRIPT, "README.md": CARD, **(files or {})}
        )
        return name

    def jobs(self, *rows: Mapping[str, object], **defaults: object) -> Path:
        lines = [json.dumps({"until": "repo", **defaults, **row}) for row in rows]
        path = self.folder / "jobs.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def start(
        self, *more: str, python: str = sys.executable, **variables: str
    ) -> subprocess.Popen[str]:
        command = [
            python,
            "-m",
            "healthcheck",
            "fleet",
            "verify",
            "jobs.jsonl",
            "--out",
            "out",
            *more,
        ]
        return subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(ROOT), **variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, *more: str, **variables: str) -> Ran:
        return self.ended(self.start(*more, **variables))

    def ended(self, process: subprocess.Popen[str]) -> Ran:
        output, _ = process.communicate(timeout=1500)
        assert "Traceback" not in output, output
        return Ran(process.returncode, output, self.out)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    for _ in range(2400):
        if condition():
            return
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    pytest.fail("it did not happen within two minutes")


def gone(mark: str) -> bool:
    """Whether no process has this text in its command line or environment, waiting minutes for it."""
    for _ in range(3600):
        if not having(mark):
            return True
        time.sleep(0.05)
    for pid in having(mark):
        os.kill(pid, signal.SIGKILL)
    return False


def having(mark: str) -> list[int]:
    """The processes with this text in their command line or environment."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                texts = (
                    Path("/proc", entry, "cmdline").read_bytes()
                    + Path("/proc", entry, "environ").read_bytes()
                )
            except OSError:
                continue
            if mark.encode() in texts:
                found.append(int(entry))
    return found
