"""The wheel carries the template: `npu-adapter new` where the kit is installed, not checked out."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

from tests.support.template import ROOT

pytestmark = pytest.mark.slow


def build(kind, source, tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(tmp_path / kind)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = (tmp_path / kind).iterdir()
    return built


def build_from(tmp_path):
    """The source distribution, unpacked."""
    with tarfile.open(build("sdist", ROOT, tmp_path)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    return folder


@pytest.fixture(params=["checkout", "sdist"])
def installed(request, tmp_path):
    """The command of the kit, installed from a wheel beside this environment's other packages."""
    wheel = build("wheel", build_from(tmp_path) if request.param == "sdist" else ROOT, tmp_path)
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    install = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return tmp_path / "venv" / "bin" / "npu-adapter"


def test_new_from_an_installed_wheel(installed, tmp_path):
    place = tmp_path / "made"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [installed, "new", place, "--template", "planned", "--defaults"], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in (place / ".copier-answers.yml").read_text()
    for name in ("deploy.sh", "adapter/plan.py", "adapter.toml"):
        assert (place / name).read_bytes() == (ROOT / name).read_bytes()
    assert os.access(place / "deploy.sh", os.X_OK)
    assert not list(place.rglob("__pycache__"))
    assert Path(place, ".git").is_dir()
    plain = subprocess.run(
        [installed, "new", tmp_path / "plain", "--defaults", "--data", "dockerfile=true", "--data", "ci=both"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert plain.returncode == 0, plain.stderr
    assert "exec vllm serve" in (tmp_path / "plain" / "deploy.sh").read_text("utf-8")
    names = {
        str(path.relative_to(tmp_path / "plain"))
        for path in (tmp_path / "plain").rglob("*")
        if path.is_file()
    }
    workflows = {".github/workflows/adapter.yml", ".gitcode/workflows/adapter.yml"}
    files = {
        ".copier-answers.yml",
        ".gitattributes",
        ".gitignore",
        "Dockerfile",
        "README.md",
        "deploy.sh",
    }
    assert {name for name in names if not name.startswith(".git/")} == files | workflows | {
        "requirements.txt"
    }


def test_numerics_ignores_an_environment_beside_the_installed_kit(installed, tmp_path):
    """`.venv-transformers` is a folder of a developer's clone; site-packages may contain anything."""
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    planted = packages / ".venv-transformers" / "bin" / "python"
    planted.parent.mkdir(parents=True)
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/planted-ran\n")
    planted.chmod(0o755)
    (packages / ".venv-transformers" / "ready").touch()
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    (weights / "model.safetensors").write_bytes(b"")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [installed, "numerics", "http://127.0.0.1:9", "--reference", weights],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "name one with --reference-python" in done.stderr
    assert not (tmp_path / "planted-ran").exists()
