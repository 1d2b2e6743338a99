"""probe, runner and verify in its probe stage: a signal ends each with a report, and no process runs on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.run.journal import read
from tests.support.probes import behaviour

pytestmark = pytest.mark.process

PATIENCE_S = 90.0
SIGNALS = [
    signal.SIGTERM,
    *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGINT, signal.SIGHUP)),
]


def until(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def started(*words: str, path: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (sys.executable, "-I", "-m", "healthcheck", *words),
        cwd="/", env={**os.environ, **({"PATH": f"{path}:{os.environ['PATH']}"} if path else {})},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[bytes], number: signal.Signals) -> str:
    """The output of the ended process; checks that its whole session is gone."""
    process.send_signal(number)
    out, error = process.communicate(timeout=PATIENCE_S)
    said = (out + error).decode()
    assert process.returncode == 3, said
    assert "Traceback" not in said
    assert not [each for each in psutil.process_iter() if _session(each) == process.pid]
    return said


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except OSError:
        return -1


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", [("probe",), ("verify", "--url")])
def test_what_was_sampled_is_reported(
    command: tuple[str, ...], number: signal.Signals, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    journal = out / "logs/samples.jsonl"
    with Simulator(behaviour(tokens_per_second=200)) as server:
        process = started(
            *command, server.url, "--problems", "3000", "--full", "--out", str(out), "--quiet"
        )
        until(lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 20, process)
        ended(process, number)
    samples = read(journal)
    report = json.loads((out / "report.json").read_text())
    assert report["verdict"] == "inconclusive"
    assert len(samples) > 20
    assert report["provenance"]["probe"]["stopped"] == "interrupted"
    assert json.loads((out / "results/metrics.json").read_text())


@pytest.fixture
def silent_server() -> Iterator[tuple[str, Event]]:
    """A server that takes a request and never answers, and an event for the request."""
    asked, over = Event(), Event()

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.set()
            over.wait(PATIENCE_S)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    over.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_probe_that_has_no_answer_yet_is_reported(
    number: signal.Signals, tmp_path: Path, silent_server: tuple[str, Event]
) -> None:
    url, asked = silent_server
    process = started(
        "probe", url, "--out", str(tmp_path / "out"), "--json", str(tmp_path / "a.json")
    )
    until(asked.is_set, process)
    assert "interrupted" in ended(process, number)
    for file in ("out/report.json", "a.json"):
        assert json.loads((tmp_path / file).read_text())["headline"] == "inconclusive: interrupted"
