"""The command `npu-adapter runner`, run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from healthcheck.cli import main
from healthcheck.extensions.runner import examining
from healthcheck.verify.catalogue import pages
from tests.extensions.runner import torch_stubs
from tests.extensions.runner.replaying import plain, recorded
from tests.machine.tables import Row, info

DESIGNED = {
    "device-nodes", "npu-smi", "health", "driver", "cann", "python", "torch-npu", "compute", "memory", "hccl", "stack",
    "disk", "shm", "port", "busy",
}  # fmt: skip


def command(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return subprocess.run(
        [sys.executable, "-m", "healthcheck", "runner", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, env={**clean, **environment}, check=False,
    )  # fmt: skip


@pytest.mark.process
def test_a_machine_without_npu_is_told_so_in_one_sentence(tmp_path):
    done = command("--json", tmp_path / "report.json", PATH="/usr/bin:/bin")
    assert done.returncode == 1
    assert "this machine has no Ascend NPU" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verdict"] == "not-ready"
    assert "runner/device-nodes" in [
        check["id"] for check in report["checks"] if check["outcome"] == "fail"
    ]


def no_end(machine):
    machine["children"]["torch_probe"] = {"trouble": "no end within 300 s"}


@pytest.mark.parametrize(
    ("change", "status"),
    [(dict, 0), (no_end, 3), (lambda machine: machine["children"].pop("versions"), 1)],
)
def test_the_exit_status_is_that_of_the_verdict(tmp_path, monkeypatch, change, status):
    machine = plain("healthy-910b3-x8")
    change(machine)
    monkeypatch.setattr(examining, "RealWholeMachine", lambda: recorded(machine))
    assert main(["runner", "--json", str(tmp_path / "report.json")]) == status
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verdict"] == ("ready", "not-ready", "", "inconclusive")[status]
    assert {check["stage"] for check in report["checks"]} == {"runner"}


@pytest.mark.process
def test_a_machine_with_an_npu_is_recorded_and_replayed(tmp_path):
    """A npu-smi of ours and stubs for torch: the whole way, with real processes."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    (tmp_path / "table").write_text(info("910B", [Row(npu=0), Row(npu=1)]))
    smi = tmp_path / "bin" / "npu-smi"
    smi.write_text(
        f'#!/bin/sh\n[ "$*" = info ] && exec cat {tmp_path}/table\necho "Error parameter of -t"; exit 1\n'
    )
    smi.chmod(0o755)
    (tmp_path / "meeting").mkdir()
    environment = {
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{torch_stubs.write(tmp_path / 'site')}:{os.getcwd()}",
        "TORCH_STUBS": json.dumps({"count": 2, "meeting": str(tmp_path / "meeting")}),
    }
    done = command("--npus", 2, "--json", "-", "--save", tmp_path / "machine.json", **environment)
    outcomes = {check["id"]: check["outcome"] for check in json.loads(done.stdout)["checks"]}
    assert "Read it before you pass it on" in " ".join(done.stderr.split())
    again = command("--json", "-", "--replay", tmp_path / "machine.json")
    assert {
        check["id"]: check["outcome"] for check in json.loads(again.stdout)["checks"]
    } == outcomes
    assert str(tmp_path) not in json.loads(again.stdout)["headline"]
    computed = {
        f"runner/{name}": "pass"
        for name in ("npu-smi", "health", "torch-npu", "compute", "memory", "hccl")
    }
    assert computed.items() <= outcomes.items()


@pytest.mark.process
def test_junit_and_github(tmp_path):
    done = command(
        "--junit", tmp_path / "junit.xml", PATH="/usr/bin:/bin",
        GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
    )  # fmt: skip
    assert done.returncode == 1
    (suite,) = ET.parse(tmp_path / "junit.xml").getroot()
    assert suite.get("name") == "runner"
    assert int(suite.get("failures")) >= 1
    assert "::error title=runner/device-nodes" in done.stderr
    assert "runner/device-nodes" in (tmp_path / "summary.md").read_text().replace("\\", "")


@pytest.mark.process
def test_elsewhere_nothing_is_annotated():
    assert "::error" not in command("--level", "1").stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--npus", "0"), "--allow-none"),
        (("--npus", "2000"), "from 1 to 1024"),
        (("--npus", "2", "--allow-none"), "write one of them"),
        (("--stack", "0.23.O"), "did you mean 0.23.0"),
    ],
)
def test_wrong_usage(arguments, words):
    done = command(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_every_designed_check_has_its_page():
    known = {page.id: page for page in pages() if page.stage.name == "runner"}
    assert {f"runner/{name}" for name in DESIGNED} <= known.keys()
    assert all("To repair:" in page.body for page in known.values())
