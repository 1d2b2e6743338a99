"""What could not be written never passes for a verdict: exit status 4, and one line that says so."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.errors import KitFailure
from healthcheck.files import write_atomically
from healthcheck.report import folder
from tests.cli.test_habits import ROOT, ran, verify
from tests.support.repositories import GOOD_SCRIPT, repository

FULL = "/dev/full"
pytestmark = pytest.mark.skipif(not Path(FULL).exists(), reason=f"needs {FULL}")
NO_SPACE = "No space left on device"


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return repository(tmp_path / "adapter", {"deploy.sh": GOOD_SCRIPT})


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "deploy.log"
    path.write_text("ModuleNotFoundError: No module named 'torch_npu'\n")
    return path


def ran_into(stdout: int, *words: str, **variables: str) -> tuple[int, str]:
    """The exit status and what was said on standard error, with standard output to this file."""
    done = subprocess.run(
        [sys.executable, "-m", "healthcheck", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def ran_into_a_full_disk(*words: str) -> tuple[int, str]:
    full = os.open(FULL, os.O_WRONLY)
    try:
        return ran_into(full, *words)
    finally:
        os.close(full)


def ran_for_nobody(*words: str, **variables: str) -> tuple[int, str]:
    """With a standard output whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return ran_into(writer, *words, **variables)
    finally:
        os.close(writer)


@pytest.mark.parametrize("words", [("explain",), ("--help",), ("--version",), ("doctor",), ("completion", "bash")])
def test_a_full_disk_under_standard_output(words: tuple[str, ...]) -> None:
    assert ran_into_a_full_disk(*words) == (4, f"npu-adapter: cannot write standard output: {NO_SPACE}\n")


@pytest.mark.parametrize("how", [(), ("--quiet",), ("--json", "-")])
def test_a_ready_repository_is_not_told_to_be_unready_by_a_full_disk(how: tuple[str, ...], adapter: Path) -> None:
    status, said = ran_into_a_full_disk(*verify(adapter, *how))
    assert status == 4
    assert said.splitlines()[-1] == f"npu-adapter: cannot write standard output: {NO_SPACE}"
    assert "Traceback" not in said


def test_files_are_written_although_nothing_can_be_printed(adapter: Path, tmp_path: Path) -> None:
    assert ran_into_a_full_disk(*verify(adapter, "--json", str(tmp_path / "r.json")))[0] == 4
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "ready"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("script", "status"), [("deploy.sh", 0), ("scripts/deploy.sh", 1)])
def test_a_reader_that_left_changes_no_verdict(script: str, status: int, unbuffered: str, tmp_path: Path) -> None:
    root = repository(tmp_path / "adapter", {script: GOOD_SCRIPT})
    written = tmp_path / "r.json"
    done = ran_for_nobody(*verify(root, "--json", str(written)), PYTHONUNBUFFERED=unbuffered)
    assert done[0] == status
    assert "npu-adapter:" not in done[1]
    assert written.is_file()


def test_a_reader_that_left_is_not_spoken_of() -> None:
    assert ran_for_nobody("explain") == (0, "")


def test_standard_error_without_a_reader_changes_no_verdict(adapter: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "healthcheck", *verify(adapter)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=writer, check=False)
    os.close(writer)
    assert done.returncode == 0
    assert b"Verdict: ready" in done.stdout


@pytest.mark.parametrize("option", ["--json", "--junit"])
@pytest.mark.parametrize("command", ["verify", "runner", "diagnose", "doctor"])
def test_a_requested_file_that_was_not_written_is_no_success(
    command: str, option: str, adapter: Path, log: Path, tmp_path: Path
) -> None:
    if option == "--junit" and command in {"diagnose", "doctor"}:
        pytest.skip("has no such option")
    words = {
        "verify": verify(adapter, "--quiet"),
        "runner": ["runner", "--allow-none", "--quiet"],
        "diagnose": ["diagnose", str(log)],
        "doctor": ["doctor"],
    }[command]
    done = ran(*words, option, FULL, TMPDIR=str(tmp_path))
    assert done.returncode == 4, done.stderr
    assert f"npu-adapter: cannot write {FULL}: {NO_SPACE}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_that_could_not_be_written_is_kept_and_shown(adapter: Path, tmp_path: Path) -> None:
    done = ran(*verify(adapter, "--quiet", "--json", FULL), TMPDIR=str(tmp_path))
    assert "Verdict: ready" in done.stdout
    kept = Path(done.stderr.strip().rpartition(" ")[2])
    assert kept.is_relative_to(tmp_path)
    assert json.loads(kept.read_text())["verdict"] == "ready"


def test_a_recording_that_could_not_be_written(tmp_path: Path) -> None:
    done = ran("runner", "--allow-none", "--quiet", "--save", FULL, TMPDIR=str(tmp_path))
    assert done.returncode == 4
    assert f"cannot write {FULL}: {NO_SPACE}" in done.stderr


def test_the_error_names_the_file_that_was_asked_for() -> None:
    with pytest.raises(OSError, match=NO_SPACE) as error:
        write_atomically(Path(FULL), b"x")
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, FULL)
    with pytest.raises(KitFailure, match=f"cannot write {FULL}: {NO_SPACE}"):
        folder.save(Path(FULL), b"x")
