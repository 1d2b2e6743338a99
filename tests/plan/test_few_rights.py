"""A container can leave its root without root's rights; what a dry run sees is the same then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repositories import GOOD_SCRIPT, repository

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"


@pytest.mark.parametrize("taken", ["-all", "-sys_admin", "-chown,-sys_admin"])
def test_a_root_user_without_rights(taken: str, tmp_path: Path) -> None:
    without = ("setpriv", "--bounding-set", taken, "--inh-caps", taken)
    if (
        os.geteuid() != 0
        or not shutil.which("setpriv")
        or subprocess.run((*without, "true"), check=False).returncode
    ):
        pytest.skip("needs root, and setpriv to take its rights")
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    words = ("verify", str(root), "--weights", str(WEIGHTS), "--until", "plan", "--quiet")
    done = subprocess.run(
        (*without, sys.executable, "-m", "healthcheck", *words),
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
