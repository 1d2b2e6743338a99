"""What a launch takes of an NPU's memory must come back: with a stub of npu-smi whose figures the tests set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.machine.devices import used_memory
from healthcheck.machine.real import RealMachine
from healthcheck.stages.service.checks import END_CHECKS
from healthcheck.stages.service.memory import MemoryWatch
from healthcheck.stages.service.records import LaunchOutcome
from tests.machine.tables import LAYOUTS, Row, info
from tests.service.launching import service

pytestmark = pytest.mark.process

_, stops = END_CHECKS
# The table is that of the running server while its process lives; then those that are laid out, one a call.
NPU_SMI = """#!/bin/sh
cd '{folder}'
if [ -s pid ] && kill -0 "$(cat pid)" 2>/dev/null; then exec cat running; fi
[ -s pid ] || exec cat before
next=$(ls after.* | head -n 1)
cat "$next"
[ "$(ls after.* | wc -l)" -eq 1 ] || rm "$next"
"""
Figures = tuple[int, ...]


@pytest.fixture
def npu_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts an npu-smi on PATH that shows the memory in use of each chip, in MiB: before, while, after."""
    folder = tmp_path / "npu"
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin" / "npu-smi"
    script.write_text(NPU_SMI.format(folder=folder), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def lay_out(layout: str, before: Figures, running: Figures, *after: Figures, holder: str = "") -> str:
        tables = {"before": before, "running": running} | {f"after.{at}": used for at, used in enumerate(after)}
        for name, used in tables.items():
            rows = [Row(npu=npu, used=mib) for npu, mib in enumerate(used)]
            held = [(0, 0, 4242, holder, used[0])] if holder and name.startswith("after") else []
            (folder / name).write_text(info(layout, rows, held), encoding="utf-8")
        return f"echo $$ > '{folder / 'pid'}'; exec SERVER PORT"

    return lay_out


def launched(tmp_path: Path, script: str, released_s: float = 60.0):
    memory = MemoryWatch(lambda: used_memory(RealMachine()), released_s=released_s)
    with service(tmp_path, script, memory=memory) as running:
        assert running.launch.outcome is LaunchOutcome.READY
    return stops.judge(running.ended())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_that_is_not_given_back_is_a_warning_with_figures(tmp_path, npu_smi, layout):
    result = launched(tmp_path, npu_smi(layout, (3400, 3400), (51200, 3400), (40960, 3400)), 0.0)
    assert result.outcome is Outcome.WARN
    (finding,) = result.findings
    assert "NPU 0 chip 0" in finding.expected
    assert "40.0 GiB in use" in finding.seen
    assert "3.3 GiB before the launch" in finding.seen
    assert "no process is named" in finding.seen


def test_who_holds_it_is_named(tmp_path, npu_smi):
    result = launched(tmp_path, npu_smi("910B", (3400,), (51200,), (51200,), holder="VLLMWorker_TP"), 0.0)
    assert "held by VLLMWorker_TP 4242" in result.findings[0].seen


HARMLESS = {
    "given back": ((3400,), (51200,), (3400,)),
    "given back after a moment": ((3400,), (51200,), (51200,), (30000,), (3500,)),
    "a few hundred MiB more": ((3400,), (51200,), (4200,)),
    "taken by somebody else meanwhile": ((3400, 3400), (51200, 3400), (3400, 60000)),
    "less than before": ((40000,), (51200,), (3400,)),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_nothing_is_said_where_it_came_back(tmp_path, npu_smi, case):
    result = launched(tmp_path, npu_smi("910B", *HARMLESS[case]))
    assert result.outcome is Outcome.PASS
    assert result.findings == ()


@pytest.mark.parametrize(
    "says", ["exit 127", "echo 'dcmi model initialized failed. ret is -8020'; exit 1", "echo '| 0'"]
)
def test_where_npu_smi_tells_nothing_nothing_is_said(tmp_path, npu_smi, says):
    script = npu_smi("910B", (3400,), (51200,), (51200,))
    (tmp_path / "npu" / "bin" / "npu-smi").write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    assert launched(tmp_path, script).findings == ()


def test_without_an_npu_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert used_memory(RealMachine()) == ()
    assert launched(tmp_path, "exec SERVER PORT").findings == ()
