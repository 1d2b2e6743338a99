"""A real cluster of Ray: three raylets with NPUs of two kinds, real `verify` runs on the simulated engine.

Each launch has a network of its own, as the three nodes are one machine with one port 8000.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.extensions.runner import torch_stubs
from tests.machine.tables import Row, info
from tests.support.fleets import (
    ENGINE,
    ROOT,
    WEIGHTS,
    Place,
    Ran,
    gone,
    having,
    wait_for,
)

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]
PYTHON = str(ROOT / ".venv-fleet" / "bin" / "python")
NODES = [
    {"NPU": 8, "kind": "910B4", "name": "head"},
    {"NPU": 8, "kind": "910B4", "name": "big"},
    {"NPU": 2, "kind": "910B3", "name": "small"},
]
"""A job for all of 8 NPUs goes to `big` first; drivers are connected to `head`."""
BAD = {"deploy.sh": "exit 1\r\n"}


@dataclass(frozen=True)
class Cluster:
    """The address, and the raylet of each node."""

    address: str
    raylets: dict[str, int]

    def start(self, place: Place, *more: str) -> subprocess.Popen[str]:
        return place.start("--on", self.address, "--own-network", *more, python=PYTHON)

    def run(self, place: Place, *more: str) -> Ran:
        return place.ended(self.start(place, *more))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    folder = tempfile.mkdtemp(prefix="nak-ray-", dir="/tmp")  # sockets have short names
    environment = {
        **os.environ, "RAY_TMPDIR": folder, "PYTHONPATH": str(ROOT),
        "PATH": f"{stand_ins(Path(folder))}:{ENGINE}:{Path(PYTHON).parent}:{os.environ['PATH']}",
        # On a busy machine, its agents take longer to start than Ray waits for them.
        "RAY_agent_register_timeout_ms": "300000", "RAY_raylet_start_wait_time_s": "300",
    }  # fmt: skip
    try:
        with started(environment, NODES) as cluster:
            yield cluster
        assert gone(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stand_ins(folder: Path) -> Path:
    """An npu-smi that shows the NPUs of its node, and a python3 with a torch of stubs that computes on them."""
    programs = folder / "stand-ins"
    for node in NODES:
        place = programs / str(node["name"])
        place.mkdir(parents=True)
        health = "Alarm" if node["name"] == "small" else "OK"
        rows = [Row(npu=number, health=health) for number in range(int(node["NPU"]))]
        (place / "info").write_text(info("910B", rows), encoding="utf-8")
        (place / "torch").write_text(
            json.dumps({"count": len(rows), "meeting": str(programs)}), encoding="utf-8"
        )
    table = f'[ "$*" = info ] && exec cat "{programs}/$NPU_NODE/info"\necho "Error parameter of -t"; exit 1'
    torch = f'export PYTHONPATH="{torch_stubs.write(programs / "site")}" TORCH_STUBS="$(cat {programs}/$NPU_NODE/torch)"'
    for name, text in (("npu-smi", table), ("python3", f'{torch}\nexec {sys.executable} "$@"')):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    return programs


@contextmanager
def started(
    environment: dict[str, str], nodes: Sequence[Mapping[str, object]]
) -> Iterator[Cluster]:
    """A cluster; on a busy machine, a raylet gives up when its agents take long, so a start has three tries."""
    command = [PYTHON, str(ROOT / "tests/extensions/fleet/ray_cluster.py"), json.dumps(nodes)]
    for _ in range(3):
        with subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            said = next((line for line in process.stdout if line.startswith('{"address"')), "")
            if said:
                yield Cluster(**json.loads(said))
                process.communicate("")
                return
    pytest.fail("the cluster did not start")


@pytest.fixture
def weights(place: Place) -> str:
    """Weights of this test alone: their path is in the command line of each of its processes."""
    return str(shutil.copytree(WEIGHTS, place.folder / "weights"))


def engine(place: Place, before: str) -> list[str]:
    """A `vllm` that does something before it is the simulated one; as values of `env`."""
    folder = place.folder / "engine"
    folder.mkdir()
    (folder / "vllm").write_text(
        f'#!/bin/sh\n{before}\nexec {ENGINE}/vllm "$@"\n', encoding="utf-8"
    )
    (folder / "vllm").chmod(0o755)
    return [f"PATH={folder}:{Path(PYTHON).parent}:/usr/local/bin:/usr/bin:/bin"]


def test_two_engines_share_a_node_each_on_port_8000_and_what_never_fits_is_said(
    cluster: Cluster, place: Place, weights: str
) -> None:
    marks = place.folder / "marks"
    marks.mkdir()
    both = f"touch {marks}/$$; n=0; while [ $(ls {marks} | wc -l) -lt 2 ] && [ $n -lt 600 ]; do sleep 0.5; n=$((n+1)); done"
    row = {
        "repository": place.adapter("good"),
        "npus": 1,
        "npu": "910B3",
        "env": engine(place, both),
    }
    place.jobs(
        {**row, "name": "left"}, {**row, "name": "right"},
        {"name": "large", "repository": "good", "npus": 9}, {"name": "other", "repository": "good", "npu": "910B1"},
        until="service", weights=weights,
    )  # fmt: skip
    ran = cluster.run(place)
    assert ran.verdicts() == {
        "left": "ready",
        "right": "ready",
        "large": "inconclusive",
        "other": "inconclusive",
    }, ran.output
    left, right, large, other = ran.fleet["jobs"]
    assert {job["attempts"][0]["node"] for job in (left, right)} == {"small"}
    assert {tuple(job["attempts"][0]["devices"]) for job in (left, right)} == {("0",), ("1",)}
    for job, wanted in ((large, "9 NPU"), (other, "an NPU 910B1")):
        assert f"no node has {wanted} (big (8 NPU Ascend910B4), head" in job["attempts"][0]["said"]
    assert (place.out / "jobs/left/attempt-1/report/report.html").is_file()
    assert gone(weights)


def test_a_killed_worker_is_tried_again_on_another_node(
    cluster: Cluster, place: Place, weights: str
) -> None:
    mark = place.folder / "launched"
    once = f"[ -e {mark} ] || {{ touch {mark}; sleep 600; }}"
    place.jobs(
        {"repository": place.adapter("only"), "npus": 8, "env": engine(place, once)},
        until="service",
        weights=weights,
    )
    process = cluster.start(place)
    wait_for(mark.exists, process)
    workers = having("ray::npu-adapter only")
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    ran = place.ended(process)
    first, second = ran.fleet["jobs"][0]["attempts"]
    assert (first["ending"], second["verdict"], ran.status) == ("lost", "ready", 0), ran.output
    assert {first["node"], second["node"]} == {"big", "head"}
    assert gone(weights)


def test_a_killed_driver_leaves_nothing_and_resume_runs_no_job_twice(
    cluster: Cluster, place: Place, weights: str
) -> None:
    mark = place.folder / "launched"
    once = f"[ -e {mark} ] || {{ touch {mark}; sleep 600; }}"
    place.jobs(
        {"repository": place.adapter("good"), "until": "repo", "name": "early", "npus": 1},
        {"repository": place.adapter("bad", BAD), "until": "repo", "name": "wrong", "npus": 1},
        {"repository": "good", "npus": 8, "env": engine(place, once), "name": "late"},
        until="service", weights=weights,
    )  # fmt: skip
    process = cluster.start(place)
    journal = place.out / "fleet.jsonl"
    wait_for(lambda: mark.exists() and len(journal.read_bytes().splitlines()) == 2, process)
    ended = journal.read_bytes()
    process.kill()
    process.communicate()
    assert gone(weights)
    ran = cluster.run(place, "--resume")
    assert ran.verdicts() == {"early": "ready", "wrong": "not-ready", "late": "ready"}, ran.output
    assert ran.attempts() == {"early": 1, "wrong": 1, "late": 1}
    assert journal.read_bytes().startswith(ended)
    assert gone(weights)


def test_ctrl_c_ends_every_launch_and_keeps_what_has_ended(
    cluster: Cluster, place: Place, weights: str
) -> None:
    marks = place.folder / "marks"
    marks.mkdir()
    env = engine(place, f"touch {marks}/$$; sleep 600")
    place.jobs(
        {"repository": place.adapter("bad", BAD), "until": "repo", "npu": "910B3"},
        {"repository": place.adapter("left"), "npus": 8, "env": env},
        {"repository": place.adapter("right"), "npus": 8, "env": env},
        until="service", weights=weights,
    )  # fmt: skip
    process = cluster.start(place)
    journal = place.out / "fleet.jsonl"
    wait_for(
        lambda: len(list(marks.iterdir())) == 2 and journal.read_bytes().endswith(b"\n"), process
    )
    process.send_signal(signal.SIGINT)
    ran = place.ended(process)
    assert ran.verdicts() == {"bad": "not-ready", "left": None, "right": None}, ran.output
    assert (ran.status, ran.fleet["stopped"]) == (1, "interrupted")
    assert gone(weights)


def test_an_address_where_nothing_listens_is_said_at_once(place: Place) -> None:
    place.jobs({"repository": place.adapter("only")})
    ran = place.ended(place.start("--on", "127.0.0.1:9", python=PYTHON))
    assert ran.status == 2
    assert "--on 127.0.0.1:9: no cluster answers there" in ran.output


def test_a_node_whose_runner_fails_takes_no_jobs(cluster: Cluster, place: Place) -> None:
    place.adapter("good")
    place.jobs(
        {"repository": "good", "name": "elsewhere", "npus": 2},
        {"repository": "good", "npu": "910B3"},
    )
    ran = cluster.run(place, "--runner")
    assert ran.verdicts() == {"elsewhere": "ready", "good": "inconclusive"}, ran.output
    found = json.loads((place.out / "machines.json").read_text())
    assert {each["name"]: (each["npus"], each["takes_jobs"]) for each in found["machines"]} == {
        "big": (8, True), "head": (8, True), "small": (2, False),
    }, ran.output  # fmt: skip
    (left,) = ran.fleet["left_out"]
    assert left.startswith("small: its runner: runner/health: ")
    elsewhere, good = ran.fleet["jobs"]
    assert elsewhere["attempts"][0]["node"] in {"big", "head"}
    assert (
        "no node has an NPU 910B3 (big (8 NPU Ascend910B4), head (8 NPU Ascend910B4);"
        in good["attempts"][0]["said"]
    )


def test_24_jobs_on_three_nodes_one_of_which_is_killed(
    cluster: Cluster, place: Place, weights: str
) -> None:
    """The last test of this module: afterwards, the cluster has two nodes."""
    place.adapter("good")
    place.adapter("bad", BAD)
    mark = place.folder / "launched"
    once = f"[ -e {mark} ] || {{ touch {mark}; sleep 600; }}"
    env = engine(place, once)
    hanging = {
        "name": "hanging",
        "repository": "good",
        "npus": 8,
        "npu": "910B4",
        "until": "service",
        "env": env,
    }
    rows = [
        {"name": f"job-{number:02}", "repository": "bad" if number % 3 == 0 else "good", "npus": 1 + number % 2,
         "until": "plan" if number % 4 == 1 else "repo"}
        for number in range(23)
    ]  # fmt: skip
    place.jobs(hanging, *rows, weights=weights)
    process = cluster.start(place, "--retries", "2")
    journal = place.out / "fleet.jsonl"
    wait_for(lambda: mark.exists() and len(journal.read_bytes().splitlines()) >= 3, process)
    os.kill(cluster.raylets["big"], signal.SIGKILL)
    ran = place.ended(process)
    expected = {row["name"]: "not-ready" if row["repository"] == "bad" else "ready" for row in rows}
    assert ran.verdicts() == {"hanging": "ready", **expected}, ran.output
    assert ran.status == 1
    attempts = [attempt for job in ran.fleet["jobs"] for attempt in job["attempts"]]
    settled = Counter(
        attempt["job"] for attempt in attempts if attempt["verdict"] != "inconclusive"
    )
    assert set(settled.values()) == {1}
    assert len(settled) == 24
    lost = [attempt for attempt in attempts if attempt["verdict"] == "inconclusive"]
    assert {(attempt["ending"], attempt["node"]) for attempt in lost} == {("lost", "big")}
    assert "hanging" in {attempt["job"] for attempt in lost}
    assert gone(weights)
