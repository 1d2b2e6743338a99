"""What `make` does before it installs anything: looks at its arguments, and at the environments that are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.template import ROOT

pytestmark = pytest.mark.process


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What of a clone `make` needs up to an installation."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("scripts", "examples/cpu_engine"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "examples/demo.sh", tmp_path / "examples")
    return tmp_path


def make(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("MAKE") and k not in {"PYTHON", "ENGINE"}
    }
    return subprocess.run(
        ["make", *words], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )


def python(clone: Path, version: str) -> Path:
    """A Python that says it is of another version."""
    major, minor = version.split(".")
    program = clone / f"python{version}"
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c \'import runpy, sys; sys.version_info = ({major}, {minor}, 0, "final", 0); '
        'sys.argv = sys.argv[1:]; sys.path.insert(0, "scripts"); runpy.run_path(sys.argv[0], run_name="__main__")\' "$@"\n'
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("arguments", "version", "said"),
    [
        (("ENGINE=simulatd",), "3.12", "ENGINE is vllm or simulated, not 'simulatd'"),
        (("ENGINE=simulated",), "3.9", "the kit runs on 3.10 to 3.14"),
        (("ENGINE=simulated",), "3.15", "the kit runs on 3.10 to 3.14"),
        ((), "3.10", "vLLM's CPU build is for Python 3.11 to 3.14"),
    ],
)
def test_a_demo_that_cannot_end_installs_nothing(
    arguments: tuple[str, ...], version: str, said: str, clone: Path
) -> None:
    done = make(clone, "demo", *arguments, f"PYTHON={python(clone, version)}")
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(clone.glob(".venv*"))


def environment(clone: Path, target: Path) -> None:
    """A .venv that was made whole, and whose Python is a link to this place."""
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/bin/python").symlink_to(target)
    (clone / ".venv/ready").touch()


def test_an_environment_is_made_again_when_its_python_is_gone(clone: Path) -> None:
    environment(clone, clone / "removed/python3")
    assert "make_development_environment.py .venv" in make(clone, "--dry-run", ".venv/ready").stdout


def test_an_environment_that_is_whole_is_kept(clone: Path) -> None:
    environment(clone, Path(sys.executable))
    assert "up to date" in make(clone, "--dry-run", ".venv/ready").stdout


def test_an_environment_without_its_marker_is_made_again(clone: Path) -> None:
    environment(clone, Path(sys.executable))
    (clone / ".venv/ready").unlink()
    assert "make_development_environment.py .venv" in make(clone, "--dry-run", ".venv/ready").stdout


@pytest.mark.slow
def test_what_an_interrupted_installation_left_is_removed_first(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real script, up to the download: the index is a folder with nothing in it."""
    environment(clone, Path(sys.executable))
    (clone / ".venv/half").touch()
    (clone / ".venv/ready").unlink()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(clone / "scripts"))
    done = make(clone, ".venv/ready", f"PYTHON={sys.executable}")
    assert done.returncode == 2
    assert not (clone / ".venv/half").exists()
    assert not (clone / ".venv/ready").exists()


FLAKY = """\
from pathlib import Path
TRIES = Path("tries")
def noted(letter):
    with TRIES.open("a") as file: file.write(letter)
    return TRIES.read_text().count(letter)
def test_flaky(): assert noted("F") > {fails}
def test_steady(): assert noted("P") == 1
"""


def run_tests(clone: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/run_tests.py", "-p", "no:xdist", "tests"]
    environment = {
        name: value for name, value in os.environ.items() if name != "SECOND_TRY"
    } | variables
    return subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("variables", "fails", "status", "tries"),
    [
        ({}, 1, 1, "FP"),
        ({"SECOND_TRY": "1"}, 1, 0, "FPF"),
        ({"SECOND_TRY": "1"}, 2, 1, "FPF"),
        ({"SECOND_TRY": "1"}, 0, 0, "FP"),
    ],
)
def test_one_failure_gets_a_second_try_when_it_is_asked_for(
    variables: dict[str, str], fails: int, status: int, tries: str, clone: Path
) -> None:
    (clone / "tests").mkdir()
    (clone / "tests/test_flaky.py").write_text(FLAKY.format(fails=fails))
    (clone / "pyproject.toml").unlink()
    done = run_tests(clone, **variables)
    assert done.returncode == status, done.stdout + done.stderr
    assert (clone / "tries").read_text() == tries


def test_a_second_test_that_needs_a_second_try_is_a_failure_and_each_is_named(clone: Path) -> None:
    (clone / "tests").mkdir()
    (clone / "pyproject.toml").unlink()
    for number, status in enumerate((0, 1)):
        (clone / "tests/test_flaky.py").write_text(
            FLAKY.format(fails=1).replace("flaky", f"flaky_{number}")
        )
        (clone / "tries").unlink(missing_ok=True)
        assert run_tests(clone, SECOND_TRY="1").returncode == status
    command = [sys.executable, "scripts/run_tests.py", "--tried-again"]
    said = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout
    assert said == "needed a second try, find out why: tests/test_flaky.py::test_flaky_0\n"
