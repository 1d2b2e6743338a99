"""On a machine with an NPU, verify itself sees that its memory does not come back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.machine.tables import Row, info

NPU_SMI = "#!/bin/sh\nif [ -e '{log}' ]; then cat '{folder}/taken'; else cat '{folder}/free'; fi\n"


@pytest.mark.slow
def test_memory_that_does_not_come_back_is_a_warning(
    adapter, weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port, verify
) -> None:
    folder = tmp_path / "npu"
    folder.mkdir()
    log = tmp_path / "out" / "logs" / "deploy.log"
    (folder / "npu-smi").write_text(NPU_SMI.format(log=log, folder=folder), encoding="utf-8")
    (folder / "npu-smi").chmod(0o755)
    (folder / "free").write_text(info("910B", [Row(used=3400)]), encoding="utf-8")
    (folder / "taken").write_text(info("910B", [Row(used=51200)]), encoding="utf-8")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    done = verify(adapter, "--weights", weights, "--until", "service")
    stops = done.check("service/stops")
    assert stops["outcome"] == "warn"
    assert "50.0 GiB in use" in str(stops)
