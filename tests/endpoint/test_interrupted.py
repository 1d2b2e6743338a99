"""Ctrl-C in the endpoint stage: its requests end at once, and what the answers so far settle is kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

KIT = [sys.executable, "-m", "healthcheck"]
BEFORE_IT_WOULD_END_BY_ITSELF_S = 45
"""The shortest limit of the steps that hang here is longer."""


@contextmanager
def simulated(*faults: str) -> Iterator[str]:
    words = [word for fault in faults for word in ("--fault", fault)]
    command = [*KIT, "simulate", "--port", "0", "--problems", "5", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(
                word for word in server.stderr.readline().split() if word.startswith("http://")
            ).rstrip(",")
        finally:
            server.terminate()


def interrupted_in(step: str, url: str, out: Path, number: signal.Signals) -> tuple[int, str, dict]:
    """Interrupt the run in a step that hangs; the exit status, standard output and the report."""
    command = [
        *KIT,
        "verify",
        "--url",
        url,
        "--model",
        "simulated",
        "--until",
        "endpoint",
        "--verbose",
    ]
    with subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        next(line for line in run.stderr if step in line)
        run.send_signal(number)
        said, _ = run.communicate(timeout=BEFORE_IT_WOULD_END_BY_ITSELF_S)
    report = json.loads((out / "report.json").read_text())
    return (
        run.returncode,
        said,
        {check["id"].removeprefix("endpoint/"): check for check in report["checks"]},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_checks_of_the_first_answers_are_kept(tmp_path: Path, number: signal.Signals) -> None:
    with simulated("hangs-at-5") as url:
        status, said, checks = interrupted_in("16 streams at once", url, tmp_path / "out", number)
    assert status == 3
    assert "no model was measured: inconclusive: interrupted" in " ".join(said.split())
    kept = {name for name, check in checks.items() if check["outcome"] == "pass"}
    assert kept == {"no-auth", "models", "model-name"}
    assert len(checks) > 20
    assert {checks[name]["detail"] for name in ("stream", "extra-fields")} == {"interrupted"}


def test_the_checks_of_the_short_answers_are_kept(tmp_path: Path) -> None:
    with simulated("hangs-at-70") as url:
        _, _, checks = interrupted_in("disconnects after", url, tmp_path / "out", signal.SIGINT)
    kept = {name for name, check in checks.items() if check["outcome"] == "pass"}
    assert kept == {"no-auth", "models", "model-name", "degenerate", "multi-turn", "system-role"}
    assert checks["max-tokens"]["outcome"] == "skip"


def test_an_observed_fault_is_kept(tmp_path: Path) -> None:
    with simulated("strict-fields", "hangs-at-7") as url:
        status, said, checks = interrupted_in(
            "16 streams at once", url, tmp_path / "out", signal.SIGINT
        )
    assert status == 1
    assert checks["extra-fields"]["outcome"] == "fail"
    assert checks["stream-framing"]["outcome"] == "skip"
    assert "not ready: endpoint/extra-fields failed" in " ".join(said.split())
