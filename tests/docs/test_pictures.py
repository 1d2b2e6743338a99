"""A picture of the terminal is what the command printed there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

pytestmark = pytest.mark.process


def test_a_command_of_the_environment_is_recorded(tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/record_terminal.py", picture, "--", "npu-adapter", "explain", "plan/port"],
        env={**os.environ, "PATH": os.defpath}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, f"{picture}: exit status 0\n")
    assert "The&#160;server&#160;listens&#160;on&#160;port&#160;8000" in picture.read_text("utf-8")
