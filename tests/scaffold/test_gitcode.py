"""The workflow for GitCode, run as its runner runs it: step by step, with the files that its variables name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.system.yaml_text import load
from tests.support.repositories import git

pytestmark = pytest.mark.process

WORKFLOW = ".gitcode/workflows/adapter.yml"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module", params=["plain", "planned"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gitcode") / "adapter"
    words = ["new", str(place), "--defaults", "--template", request.param, "--data", "ci=gitcode"]
    assert main([*words, "--data", "kit="]) == 0
    return place


def step(
    script: str, place: Path, scratch: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    files = {
        name: str(scratch / name)
        for name in ("ATOMGIT_ENV", "ATOMGIT_OUTPUT", "ATOMGIT_STEP_SUMMARY")
    }
    kept = {"PATH": os.environ["PATH"], "HOME": str(scratch), "LANG": "C.UTF-8"}
    return subprocess.run(
        ["bash", "-c", script], cwd=place, env=kept | files | variables, capture_output=True, text=True, check=False
    )  # fmt: skip


def scripts(place: Path) -> list[str]:
    steps = load((place / WORKFLOW).read_bytes())["jobs"]["cpu"]["steps"]
    return [each["run"] for each in steps if "run" in each]


def test_an_empty_variable_fails_with_one_sentence(made: Path, tmp_path: Path) -> None:
    install, *_ = scripts(made)
    done = step(install, made, tmp_path, NPU_ADAPTER_KIT="")
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith(
        "Nothing was checked: set NPU_ADAPTER_KIT in .gitcode/workflows/adapter.yml"
    )
    assert not (tmp_path / "kit").exists()


def test_the_verdict_is_an_output_and_the_summary_is_on_the_page_of_the_job(
    made: Path, tmp_path: Path
) -> None:
    *_, verify = scripts(made)
    assert "mktemp" not in verify
    done = step(verify, made, tmp_path, KIT=str(BIN))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "ATOMGIT_OUTPUT").read_text() == "verdict=ready\n"
    assert (tmp_path / "ATOMGIT_STEP_SUMMARY").read_text().startswith("## npu-adapter: ready")
    assert "::" not in done.stderr


def test_a_broken_repository_fails_the_step(made: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    git(made, "clone", "-q", str(made), str(broken))
    (broken / "deploy.sh").write_text("#!/bin/sh\nexit 1\n")
    git(broken, "commit", "-qam", "broken")
    *_, verify = scripts(made)
    assert step(verify, broken, tmp_path, KIT=str(BIN)).returncode == 1
    assert (tmp_path / "ATOMGIT_OUTPUT").read_text() == "verdict=not-ready\n"


def test_the_kit_is_found_by_the_later_steps(made: Path) -> None:
    install, *rest = scripts(made)
    assert 'echo "KIT=$HOME/kit/bin" >> "$ATOMGIT_ENV"' in install
    assert all('"$KIT/' in script for script in rest)
