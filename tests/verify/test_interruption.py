"""Ctrl-C at any time: nothing is left running, what was measured is kept, the exit status is 3."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.verifications import kit, simulated_path

pytestmark = pytest.mark.process


def start(adapter: Path, weights: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        kit("verify", adapter, "--weights", weights, "--out", out, *more),
        env=simulated_path(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def wait_for(condition, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        if condition():
            return
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    pytest.fail("it did not happen within a minute")


def slow_engine(tmp_path: Path, body: str) -> str:
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "vllm").write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (engine / "vllm").chmod(0o755)
    return f"PATH={engine}:/usr/local/bin:/usr/bin:/bin"


def test_during_loading(adapter: Path, weights: Path, tmp_path: Path, port) -> None:
    mark = tmp_path / "started"
    path = slow_engine(tmp_path, f"touch '{mark}'; sleep 600")
    out = tmp_path / "out"
    process = start(adapter, weights, out, "--env", path)
    wait_for(mark.exists, process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=150)
    assert process.returncode == 3, output
    assert "Traceback" not in output
    assert json.loads((out / "report.json").read_text("utf-8"))["verdict"] == "inconclusive"
    assert not subprocess.run(["pgrep", "-f", str(mark)], capture_output=True, check=False).stdout
    assert port()


@pytest.mark.slow
def test_during_the_probe(adapter: Path, weights: Path, tmp_path: Path, port) -> None:
    out = tmp_path / "out"
    journal = out / "logs" / "samples.jsonl"
    process = start(adapter, weights, out, "--problems", "3000", "--concurrency", "2")
    wait_for(lambda: journal.is_file() and len(journal.read_bytes().splitlines()) > 20, process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=150)
    assert process.returncode == 3, output
    assert "Traceback" not in output
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert report["verdict"] == "inconclusive"
    assert report["metrics"]["samples"] >= 20
    assert port()
