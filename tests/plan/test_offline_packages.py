"""The stub of pip and the real pip agree on what `pip install --no-index` finds, if installed packages do not count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from healthcheck.stages.plan.dry_run import stubs

pytest.importorskip("pip")
STUB = Path(stubs.__file__).with_name("pip.py")
ROOT = Path(stubs.__file__).parents[4]
FILES = {
    "list.txt": "our_adapter\n",
    "other.txt": "other # a comment\n",
    "offline.txt": "--find-links wheels\nour-adapter==1.0\n",
    "continued.txt": "--no-index\n--find-links=wheels\nother \\\n  >=2\n",
    "above.txt": "-f wheels\n-r deeper/list.txt\n",
    "deeper/list.txt": "Our.Adapter\n",
}
ARGUMENTS = (
    "-f wheels our-adapter", "-f wheels Our_Adapter>=1", "--find-links=wheels -r list.txt", "-f wheels other",
    "-f wheels -r other.txt", "our-adapter", "-f missing our-adapter", "-r offline.txt", "-r continued.txt", "-r above.txt",
    "-f missing -f wheels our-adapter", "wheels/our_adapter-1.0-py3-none-any.whl", "-f wheels our-adapter other",
)  # fmt: skip


def _submission(root: Path) -> Path:
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "wheels").mkdir()
    (root / "deploy.sh").touch()
    with zipfile.ZipFile(root / "wheels/our_adapter-1.0-py3-none-any.whl", "w") as wheel:
        folder = "our_adapter-1.0.dist-info"
        wheel.writestr(
            f"{folder}/METADATA", "Metadata-Version: 2.1\nName: our-adapter\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{folder}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{folder}/RECORD", "")
    return root


def _status(command: list[str], folder: Path) -> int:
    environment = {
        "PATH": "/nowhere",
        "HOME": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False
    ).returncode


@pytest.mark.process
@pytest.mark.slow
def test_the_stub_fails_where_pip_fails(tmp_path: Path) -> None:
    folder = _submission(tmp_path / "submission")
    kit = tmp_path / "kit"
    kit.mkdir()
    (kit / "image.json").write_text(json.dumps({"root": str(folder), "script": "deploy.sh"}))
    real, ours = {}, {}
    for line in ARGUMENTS:
        words = [
            "install",
            "--no-index",
            "--target",
            str(tmp_path / "out"),
            "--no-deps",
            *line.split(),
        ]
        real[line] = _status([sys.executable, "-m", "pip", *words, "--dry-run"], folder)
        ours[line] = _status([sys.executable, str(STUB), str(kit), "pip", *words], folder)
    assert ours == real
    assert set(real.values()) == {0, 1}
