"""`features` and `numerics` that are told to end: they say so, and that they keep nothing of it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.extensions.simulator import Behaviour, Simulator
from tests.support.template import ROOT


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["features", "numerics"])
def test_it_ends_with_a_report_that_says_so(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    with Simulator(Behaviour(tokens_per_second=5)) as simulator:
        words = [command, simulator.url, "--verbose", "--out", str(tmp_path / "out")]
        process = subprocess.Popen(
            [sys.executable, "-m", "healthcheck", *words],
            cwd=ROOT, env={"NPU_ADAPTER_LANG": "en"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr
        while not re.search(r"\(\d+ of \d+\)", process.stderr.readline()):
            assert process.poll() is None
        process.send_signal(number)
        out, error = process.communicate(timeout=120)
    assert process.returncode == 3, error
    assert "Verdict: inconclusive: interrupted" in " ".join(out.split())
    assert error.endswith("npu-adapter: interrupted before any check finished; nothing was saved\n")
    assert (
        json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["stopped"]
        == "interrupted"
    )
