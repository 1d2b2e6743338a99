"""`probe --on`: servers that it launches itself, on the two nodes of a real cluster of Ray.

Each node has a network of its own, so that both servers have port 8000, as on two machines.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from healthcheck.stages.probe.run.folder import load
from tests.extensions.fleet.conftest import ROOT, WEIGHTS, Place, gone
from tests.extensions.fleet.ray_networks import ADDRESSES
from tests.extensions.fleet.test_ray import PYTHON

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]
OPTIONS = ("--problems", "30", "--samples", "4", "--concurrency", "8", "--temperature", "0")
URLS = [f"http://{address}:8000" for address in ADDRESSES.values()]
VLLM = f"""#!/bin/sh
# The simulated engine; files beside the weights say how it behaves.
model=$2 fault= host=0.0.0.0
[ -e "$model/one-dies" ] && mkdir "$model/dies" 2>/dev/null && fault="--fault dies-after-15"
[ -e "$model/local" ] && host=127.0.0.1
exec {ROOT}/.venv/bin/npu-adapter simulate --host $host --port 8000 --model "$model" $fault \\
    --tokens-per-second $(cat "$model/speed" 2>/dev/null || echo 0)
"""


@dataclass(frozen=True)
class Cluster:
    """The address, and a process in the network of its first node."""

    address: str
    pid: int

    def start(self, folder: Path, *command: str) -> subprocess.Popen[str]:
        """Run the kit in the network of the first node."""
        return subprocess.Popen(
            ["nsenter", f"--net=/proc/{self.pid}/ns/net", PYTHON, "-m", "healthcheck", *command], cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def probe(self, place: Place, *more: str) -> subprocess.Popen[str]:
        weights = str(place.folder / "weights")
        return self.start(place.folder, "probe", "adapter", "--on", self.address, "--weights", weights, "--npus", "1",
                          "--verbose", *more)  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    folder = tempfile.mkdtemp(prefix="nak-ray-", dir="/tmp")  # sockets have short names
    (programs := Path(folder) / "programs").mkdir()
    (programs / "vllm").write_text(VLLM, encoding="utf-8")
    (programs / "vllm").chmod(0o755)
    environment = {
        **os.environ, "RAY_TMPDIR": folder, "PYTHONPATH": str(ROOT),
        "PATH": f"{programs}:{Path(PYTHON).parent}:{os.environ['PATH']}",
        # On a busy machine, its agents take longer to start than Ray waits for them.
        "RAY_agent_register_timeout_ms": "300000", "RAY_raylet_start_wait_time_s": "300",
    }  # fmt: skip
    command = [PYTHON, str(ROOT / "tests/extensions/fleet/ray_networks.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
            assert process.stdout is not None
            said = next((line for line in process.stdout if line.startswith('{"address"')), "")
            assert said, "the cluster did not start"
            yield Cluster(**json.loads(said))
            process.communicate("")
        assert gone(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def weights(place: Place) -> Path:
    """Weights of this test alone, and an adapter: their path is in the command line of each of its servers."""
    place.adapter("adapter")
    return Path(shutil.copytree(WEIGHTS, place.folder / "weights"))


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=900)
    assert "Traceback" not in output, output
    return process.returncode, " ".join(output.split())


def wait_for_samples(run: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Until so many samples of both servers are on record."""
    journal = run / "logs/samples.jsonl"
    for _ in range(12000):
        text = journal.read_text("utf-8") if journal.exists() else ""
        if text.count("\n") >= count and all(url in text for url in URLS):
            return
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    pytest.fail("no samples within ten minutes")


def test_killed_interrupted_and_a_server_lost_the_figures_are_those_of_one_server(
    cluster: Cluster, place: Place, weights: Path
) -> None:
    whole, parts = place.folder / "whole", place.folder / "parts"
    (weights / "speed").write_text("3")
    arguments = [*OPTIONS, "--out", "parts"]
    for number, sign in enumerate((signal.SIGKILL, signal.SIGINT), 1):
        process = cluster.probe(place, *arguments)
        wait_for_samples(parts, 10 * number, process)
        process.send_signal(sign)
        status, said = ended(process)
        assert status == (-sign if sign is signal.SIGKILL else 3), said
        assert gone(str(weights)), "a server is left"
        before = {sample.order: sample for sample in load(parts).samples}
        arguments = ["--resume", "parts"]
    assert 0 < len(before) < 120
    (weights / "speed").write_text("100")
    (weights / "one-dies").touch()
    status, said = ended(cluster.probe(place, *arguments))
    assert status == 0, said
    assert gone(str(weights)), "a server is left"
    run = load(parts)
    assert sorted(run.servers) == sorted(URLS)
    assert (weights / "dies").exists()
    assert any(sample.retried for sample in run.samples), "no request met the server that died"
    lines = [json.loads(line) for line in (parts / "logs/samples.jsonl").read_bytes().splitlines()]
    assert Counter(line["order"] for line in lines if not line["error"]) == dict.fromkeys(range(120), 1)
    assert all(run.samples[order] == sample for order, sample in before.items() if not sample.error)

    simulator = cluster.start(place.folder, "simulate", "--host", "0.0.0.0", "--model", str(weights))
    try:
        assert simulator.stdout is not None
        assert "SIMULATED endpoint" in simulator.stdout.readline()
        status, said = ended(cluster.start(place.folder, "probe", URLS[0], *OPTIONS, "--out", "whole"))
    finally:
        simulator.kill()
        simulator.communicate()
    assert status == 0, said
    assert [(s.order, s.problem, s.repeat, s.text) for s in run.samples] == [
        (s.order, s.problem, s.repeat, s.text) for s in load(whole).samples
    ]
    figures = [json.loads((folder / "results/metrics.json").read_text()) for folder in (whole, parts)]
    assert sum(each["samples"] for each in figures[1].pop("servers").values()) == 120
    assert figures[0] == figures[1]

    provenance = json.loads((parts / "report.json").read_text())["provenance"]
    assert provenance["commit"] == run.settings.commit != ""
    place.adapter("adapter", {"deploy.sh": "exit 1\n"})
    status, said = ended(cluster.probe(place, "--resume", "parts"))
    assert status == 2, said
    assert f"its answers are of commit {run.settings.commit[:12]}" in said


def test_servers_that_fail_or_are_out_of_reach_are_told_with_the_reason(
    cluster: Cluster, place: Place, weights: Path
) -> None:
    (weights / "local").touch()
    status, said = ended(cluster.probe(place, *OPTIONS))
    assert status == 3, said
    for url in URLS:
        assert (
            f"({url}): ready there, but out of reach from this machine (Connection refused): it listens on 127."
            in said
        )
    assert gone(str(weights))
    place.adapter("adapter", {"deploy.sh": "#!/bin/sh\necho no luck today >&2\nexit 5\n"})
    status, said = ended(cluster.probe(place, *OPTIONS, "--replicas", "1", "--out", "run"))
    assert status == 3, said
    assert f"no server is ready: first ({URLS[0]}): service/starts: " in said
    assert (place.folder / "run/logs/servers/first.log").read_text() == "no luck today\n"
    status, said = ended(cluster.probe(place, *OPTIONS, "--replicas", "3"))
    assert status == 3, said
    assert "3 servers need as many nodes with 1 NPU, each with an address of its own; 2 of these are" in said
