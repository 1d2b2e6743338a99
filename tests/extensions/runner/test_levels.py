"""The levels of the command with a small program in the place of npu-smi, run as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from healthcheck.cli import main
from healthcheck.extensions.runner.asked import Depth
from healthcheck.report import page
from tests.extensions.runner import answers, torch_stubs
from tests.extensions.runner.replaying import report
from tests.machine.tables import Row, info

PATIENCE_S = 120
TABLES_AFTER_A_PART = 5
"""One table at the first level, one at the begin of the soak, one after each of its parts."""
ECC = "\n".join(answers.counters(0)["stdout"])
NPU_SMI = """#!/bin/sh
echo "$*" >> {folder}/looked
case "$*" in
  info) exec cat {folder}/table ;;
  *ecc*) cat {folder}/ecc ;;
  *) echo "Error parameter of -t"; exit 1 ;;
esac
"""


@pytest.fixture
def machine(tmp_path):
    """Two devices of stubs, and the tool of a host; returns the environment of the command."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    (tmp_path / "table").write_text(info("910B", [Row(npu=0), Row(npu=1)]))
    (tmp_path / "ecc").write_text(ECC)
    (tmp_path / "meeting").mkdir()
    tool(folder, "npu-smi", NPU_SMI.format(folder=tmp_path))
    return {
        "PATH": f"{folder}:/usr/bin:/bin",
        "PYTHONPATH": f"{torch_stubs.write(tmp_path / 'site')}:{os.getcwd()}",
        "TORCH_STUBS": json.dumps({"count": 2, "meeting": str(tmp_path / "meeting")}),
    }


def tool(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def started(machine, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return subprocess.Popen(
        [sys.executable, "-m", "healthcheck", "runner", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**clean, **machine},
    )  # fmt: skip


def run(machine, *arguments):
    process = started(machine, *arguments)
    out, error = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in error
    return process.returncode, out, error


def outcomes(path):
    return {check["id"]: check["outcome"] for check in json.loads(path.read_text())["checks"]}


@pytest.mark.process
def test_the_soak_is_in_the_report(machine, tmp_path):
    run(machine, "--npus", 2, "--soak", "0.04", "--out", tmp_path / "out")
    found = outcomes(tmp_path / "out/report.json")
    passed = ("soak", "ecc", "hccl")
    assert {name: found[f"runner/{name}"] for name in passed} == dict.fromkeys(passed, "pass")
    metrics = json.loads((tmp_path / "out/report.json").read_text())["metrics"]
    assert metrics["soak"]["tflops"].keys() == {"device 0", "device 1"}
    assert len(metrics["soak"]["celsius"]) == 2
    assert metrics["machine"]["counters"]["HBM Double Bit Error Count of NPU 0 chip 0"] == 0


@pytest.mark.process
def test_the_first_level_asks_no_device(machine, tmp_path):
    run(machine, "--level", 1, "--out", tmp_path / "out")
    found = outcomes(tmp_path / "out/report.json")
    assert (found["runner/compute"], found["runner/ecc"]) == ("skip", "pass")


@pytest.mark.process
def test_a_changed_machine_is_told_with_old_and_new(machine, tmp_path):
    run(machine, "--level", 1, "--out", tmp_path / "before")
    (tmp_path / "ecc").write_text(
        "\n".join(answers.counters(0, HBM_Double_Bit_Error_Count=3)["stdout"])
    )
    (tmp_path / "table").write_text(info("910B", [Row(npu=0)]))
    run(
        machine,
        "--level",
        1,
        "--baseline",
        tmp_path / "before/report.json",
        "--json",
        tmp_path / "now.json",
    )
    (check,) = (
        check
        for check in json.loads((tmp_path / "now.json").read_text())["checks"]
        if check["id"] == "runner/baseline"
    )
    changed = {
        data["name"]: (data["old"], data["new"])
        for each in check["evidence"]
        if (data := each.get("data"))
    }
    assert changed["devices"] == ("2 × 910B3", "1 × 910B3")
    assert changed["HBM Double Bit Error Count of NPU 0 chip 0"] == ("0", "3")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a report.json"),
        ("{}", "not a report.json"),
        ('{"metrics": {}}', "no record of a machine"),
        ('{"metrics": {"machine": {"facts": {"driver": 3}}}}', "not a report.json"),
        ("[" * 100_000, "not a report.json"),
    ],
)
def test_what_is_no_baseline_is_refused_in_words(tmp_path, capsys, text, words):
    (tmp_path / "report.json").write_text(text)
    assert main(["runner", "--level", "1", "--baseline", str(tmp_path / "report.json")]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--level", "1", "--soak", "5"), "--soak is for --level 3"),
        (("--soak", "1e9"), "at most 10080 minutes"),
        (("--baseline", "absent.json"), "absent.json"),
        (("--out", "/proc/x"), "cannot write to /proc/x"),
    ],
)
def test_wrong_usage(capsys, arguments, words):
    assert main(["runner", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.process
def test_an_interrupted_soak_keeps_what_was_measured(machine, tmp_path):
    process = started(machine, "--npus", 2, "--soak", 0.6, "--out", tmp_path / "out")
    looked, end = tmp_path / "looked", time.monotonic() + PATIENCE_S
    while not (
        looked.exists() and looked.read_text().split("\n").count("info") > TABLES_AFTER_A_PART
    ):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(soaking(children)) == 3
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=PATIENCE_S)
    written = json.loads((tmp_path / "out/report.json").read_text())
    found = {check["id"]: check for check in written["checks"]}
    taken = found["runner/port"]["outcome"] == "fail"  # by another program of this machine
    assert process.returncode == (1 if taken else 3), out + error
    assert found["runner/compute"]["outcome"] == "pass"
    assert "interrupted after" in found["runner/soak"]["detail"]
    assert 0 < written["metrics"]["soak"]["lasted_s"] < 36
    assert not soaking(children)


def soaking(processes):
    alive = []
    for each in processes:
        try:
            alive += (
                [each] if each.is_running() and "soak_probe.py" in " ".join(each.cmdline()) else []
            )
        except psutil.Error:
            continue
    return alive


def test_the_page_says_what_the_machine_is():
    html = page.render(report(answers.complete(), depth=Depth.SOAK)).decode()
    assert "8 × 910B3" in html
