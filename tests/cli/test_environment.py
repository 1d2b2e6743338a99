"""Where the kit is started: encodings, streams, paths and folders that are not as on a developer's machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.cli import main
from tests.cli.test_habits import ROOT, WEIGHTS, verify
from tests.support.commands import started


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict", "gb2312"])
def test_no_encoding_is_too_narrow(encoding: str, faulty: Path) -> None:
    words, bad = verify(faulty), os.fsdecode(b"/no/\xff\xe9\xe6\xa8\xa1")
    for command, status in ((words, 1), (["explain", "plan/port"], 0), (["diagnose", bad], 2)):
        done = subprocess.run(
            [sys.executable, "-X", "utf8=0", "-m", "healthcheck", *command],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert b"Traceback" not in done.stderr
    assert b"/no/\xff" in done.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "status"),
    [(("new", "mine"), 2), (("diagnose", "-"), 3), (("explain", "plan/port"), 0)],
)
def test_standard_input_may_be_closed(words: tuple[str, ...], status: int, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "healthcheck", *words]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("verify", ""),
        ("verify", "--weights", "", "--until", "plan"),
        ("verify", "--out="),
        ("verify", "--json", ""),
        ("new", ""),
        ("probe", "http://h", "--out", ""),
    ],
)
def test_an_empty_path_is_no_path(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    assert stop.value.code == 2
    assert "the path is empty; is a variable unset?" in capsys.readouterr().err


def test_a_removed_folder_is_said_and_no_failure_of_the_kit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["verify", "--weights", str(WEIGHTS), "--until", "plan"]) == 2
    assert "the folder that this runs in was removed" in capsys.readouterr().err


@pytest.mark.process
def test_python_without_docstrings_is_refused() -> None:
    done = started("explain", "plan/port", PYTHONOPTIMIZE="2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "-OO" in done.stderr
