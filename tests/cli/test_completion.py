"""Shells complete commands, options and values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from healthcheck import cli
from tests.support.commands import ran

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def completion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script for bash."""
    script = tmp_path_factory.mktemp("completion") / "completion.bash"
    script.write_text(ran("completion", "bash").stdout)
    return script


def completed(line: str, script: Path, cwd: Path) -> set[str]:
    """What bash offers after this line."""
    words = line.split(" ")
    code = (
        f'. "{script}"; COMP_WORDS=({" ".join(map(repr, words))}); COMP_CWORD={len(words) - 1}; '
        '_npu_adapter 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], cwd=cwd, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("npu-adapter ver", {"verify"}),
        ("npu-adapter verify --wei", {"--weights", "--weights-config", "--weight-limit"}),
        ("npu-adapter verify --until p", {"plan", "probe"}),
        ("npu-adapter explain plan/ho", {"plan/host"}),
        ("npu-adapter verify --skip plan/por", {"plan/port"}),
        ("npu-adapter completion z", {"zsh"}),
        ("npu-adapter read rep", {"report.zip"}),
        ("npu-adapter verify --weights rep", {"report.zip"}),
    ],
)
def test_bash_completes(line: str, offered: set[str], completion: Path, tmp_path: Path) -> None:
    (tmp_path / "report.zip").touch()
    assert completed(line, completion, tmp_path) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_read_their_script(shell: str, tmp_path: Path) -> None:
    script = ran("completion", shell).stdout
    for name in cli.COMMANDS:
        assert name in script
    assert "--until" in script or "-l until" in script
    if not shutil.which(shell):
        pytest.skip(f"needs {shell} to read it")
    (tmp_path / "script").write_text(script)
    assert subprocess.run([shell, "-n", str(tmp_path / "script")], check=False).returncode == 0
