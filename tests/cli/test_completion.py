"""Shells complete commands, options, values and paths with the scripts that are printed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck import cli

CASES = [
    ("npu-adapter ver", {"verify"}),
    ("npu-adapter verify --wei", {"--weights", "--weights-config", "--weight-limit"}),
    ("npu-adapter verify --until p", {"plan", "probe"}),
    ("npu-adapter completion z", {"zsh"}),
    ("npu-adapter verify --weights rep", {"report.zip"}),
]


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with a file to complete, and below it the script of each shell."""
    (tmp_path / "report.zip").touch()
    for shell in ("bash", "zsh", "fish"):
        assert cli.main(["completion", shell]) == 0
        (tmp_path / f"script.{shell}").write_text(capsys.readouterr().out)
    return tmp_path


def completed(line: str, folder: Path) -> set[str]:
    """What bash offers after this line."""
    words = line.split(" ")
    code = (
        f". script.bash; COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; "
        '_shtab_npu_adapter 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.process
def test_bash_completes(folder: Path) -> None:
    assert {line: completed(line, folder) for line, _ in CASES} == dict(CASES)


@pytest.mark.process
def test_fish_completes(folder: Path) -> None:
    if not shutil.which("fish"):
        pytest.skip("needs fish")
    for line, offered in CASES:
        code = f"source script.fish; complete --do-complete '{line}'"
        done = subprocess.run(["fish", "-N", "-c", code], cwd=folder, capture_output=True, text=True, check=True)
        assert {row.partition("\t")[0] for row in done.stdout.splitlines()} == offered, line


@pytest.mark.process
def test_zsh_reads_its_script(folder: Path) -> None:
    if not shutil.which("zsh"):
        pytest.skip("needs zsh to read it")
    assert subprocess.run(["zsh", "-n", str(folder / "script.zsh")], check=False).returncode == 0


def test_without_shtab_the_refusal_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 2
    assert re.search("pip install .*shtab", capsys.readouterr().err)
