"""docs/fleet.md: its commands run as they stand there, its job file is one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.extensions.fleet import jobs
from healthcheck.extensions.fleet.subcommands import grammar
from tests.docs.blocks import ROOT, blocks
from tests.support.port import the_port

PAGE = ROOT / "docs" / "fleet.md"


def block(language: str) -> str:
    return next(each.body for each in blocks(PAGE) if each.language == language)


@pytest.mark.slow
def test_from_nothing_to_the_page_in_ten_lines(tmp_path: Path) -> None:
    assert len(block("bash").strip().splitlines()) <= 10
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {
        "PATH": programs,
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "LANG": "C.UTF-8",
    }
    with the_port():
        done = subprocess.run(
            ["bash", "-euc", block("bash")], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 jobs: 1 ready, 1 not ready" in done.stdout
    assert done.stdout.endswith("exit status 1\n")
    (page,) = tmp_path.glob("*/fleet/fleet.html")
    text = page.read_text("utf-8")
    assert "SIMULATED" in text
    for link in re.findall(r'href="(jobs/[^"]+)"', text):
        assert (page.parent / link).is_file()


def test_the_job_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "adapters/qwen3").mkdir(parents=True)
    (tmp_path / "jobs.toml").write_text(block("toml"))
    first, second = jobs.read(tmp_path / "jobs.toml", grammar())
    assert (first.name, second.name, second.npus) == ("qwen3", "qwen3-vl", 2)
