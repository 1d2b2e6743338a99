"""The main job on the real vLLM: scaffold, launch, verify; Ctrl-C while it loads and while it is measured."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]


@pytest.fixture
def start(
    tmp_path: Path, engine_environment: dict[str, str]
) -> Callable[..., subprocess.Popen[str]]:
    """Starts `npu-adapter verify` of a fresh adapter in a form of the template, with options."""
    adapter = tmp_path / "my-adapter"
    kit = [sys.executable, "-m", "healthcheck"]
    variables = [
        word for name, value in engine_environment.items() for word in ("--env", f"{name}={value}")
    ]

    def run(weights: Path, *more: str, form: str = "plain") -> subprocess.Popen[str]:
        planned_for = ("--weights", weights) if form == "plain" else ()
        made = [*kit, "new", adapter, "--template", form, "--defaults", *planned_for]
        subprocess.run(list(map(str, made)), check=True, capture_output=True)
        command = [
            *kit,
            "verify",
            adapter,
            "--weights",
            weights,
            "--out",
            tmp_path / "out",
            *variables,
            *more,
        ]
        return subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL, env={**os.environ, **engine_environment},
        )  # fmt: skip

    return run


def report(tmp_path: Path) -> dict[str, Any]:
    return json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))


def left_over(weights: Path) -> str:
    """Processes whose command line or environment still has the weights."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if str(weights).encode() in text:
                found.append(entry.name)
    return " ".join(found)


@pytest.mark.parametrize("form", ["plain", "planned"])
def test_an_adapter_from_the_template_is_ready(
    form: str, start, tiny_weights: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "权重 tiny model"
    shutil.copytree(tiny_weights, odd)
    process = start(odd, form=form)
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output
    seen = report(tmp_path)
    assert seen["verdict"] == "ready"
    assert {check["outcome"] for check in seen["checks"]} <= {"pass", "skip"}, output
    for tier, figures in seen["metrics"]["tiers"].items():
        assert 0 < figures["correct"] < figures["samples"], tier
    assert {"configs", "logs", "results", "report.json"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert not left_over(odd)


@pytest.mark.parametrize("moment", ["loading", "probe"])
def test_ctrl_c_leaves_nothing_behind(
    moment: str, start, tiny_weights: Path, tmp_path: Path
) -> None:
    weights = Path(shutil.copytree(tiny_weights, tmp_path / "weights"))
    process = start(weights, "--problems", "3000", "--concurrency", "8")
    journal = tmp_path / "out" / "logs" / "samples.jsonl"
    log = tmp_path / "out" / "logs" / "deploy.log"
    reached = {
        "loading": lambda: log.is_file() and b"Starting to load model" in log.read_bytes(),
        "probe": lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 50,
    }[moment]
    while not reached():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 3, output
    assert "Traceback" not in output
    seen = report(tmp_path)
    assert seen["verdict"] == "inconclusive"
    assert seen["metrics"].get("samples", 0) >= (50 if moment == "probe" else 0)
    assert not left_over(weights)
