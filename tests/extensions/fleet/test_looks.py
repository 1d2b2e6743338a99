"""The runner's checks on the machines of a fleet: which of them may take jobs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.core.records import Verdict
from healthcheck.extensions.fleet.looks import Look, left_out
from healthcheck.extensions.fleet.machines import Machine
from healthcheck.extensions.fleet.records import Attempt, Ending, ReportFacts
from tests.support.fleets import Place
from tests.support.template import ROOT


@pytest.mark.process
def test_a_machine_without_npus_takes_no_jobs_and_says_why(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "healthcheck",
        "fleet",
        "runner",
        "--level",
        "1",
        "--out",
        tmp_path / "out",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    (machine,) = json.loads((tmp_path / "out/machines.json").read_text())["machines"]
    assert (machine["name"], machine["verdict"], machine["takes_jobs"]) == (
        socket.gethostname(),
        "not-ready",
        False,
    )
    assert machine["why"].startswith("runner/device-nodes: ")
    assert machine["why"] in done.stdout
    assert (tmp_path / "out" / machine["report"] / "report.html").is_file()


@pytest.mark.process
def test_no_job_runs_on_a_machine_whose_runner_fails(place: Place) -> None:
    place.jobs({"repository": place.adapter("good")})
    ran = place.run("--runner", "1")
    assert (ran.status, ran.verdicts()) == (3, {"good": "inconclusive"})
    (attempt,) = ran.fleet["jobs"][0]["attempts"]
    assert (attempt["ending"], attempt["node"]) == ("fits no machine", "")
    (left,) = ran.fleet["left_out"]
    assert left.startswith(f"{socket.gethostname()}: its runner: runner/device-nodes: ")
    assert "its runner: runner/device-nodes: " in (place.out / "fleet.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("ending", "status", "told", "takes_jobs"),
    [
        (Ending.DONE, 0, Verdict.READY, True),
        (Ending.DONE, 3, Verdict.INCONCLUSIVE, True),
        (Ending.DONE, 1, Verdict.NOT_READY, False),
        (Ending.DONE, 0, Verdict.NOT_READY, False),
        (Ending.DONE, None, None, False),
        (Ending.TIME_LIMIT, 3, Verdict.INCONCLUSIVE, False),
        (Ending.LOST, None, None, False),
    ],
)
def test_who_takes_jobs(
    ending: Ending, status: int | None, told: Verdict | None, takes_jobs: bool
) -> None:
    report = (
        ReportFacts(verdict=told, headline="", stages=(), problems=(), simulated=False, page=False)
        if told
        else None
    )
    attempt = Attempt(
        job="node", digest="", number=1, ending=ending, status=status, report=report, node="node"
    )
    look = Look(machine=Machine(name="node", npus=8), attempt=attempt)
    assert look.takes_jobs == takes_jobs
    assert set(left_out([look])) == (set() if takes_jobs else {"node"})
