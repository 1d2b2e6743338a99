# ruff: noqa: INP001 - scripts are no package
"""Virtual environments for other programs, installed by uv with a torch for the CPU and nothing of CUDA beside it.

Runs on a plain Python, before anything is installed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

LEFT_OUT = ("torchvision", "torchaudio", "torchcodec", "triton")
"""What comes along with torch; the registry's builds are for CUDA and break beside a torch for the CPU."""
STAMP = "npu-adapter-kit.txt"


def make(
    environment: Path,
    what: str,
    requirements: Sequence[str],
    *,
    constraints: Sequence[str] = (),
    overrides: Sequence[str] = (),
    find_links: Sequence[Path] = (),
) -> None:
    """Make the environment anew, unless it holds just this.

    Args:
        environment: the folder; emptied first.
        what: what it holds, with the versions, in a line.
        requirements: what is installed; the wheels of `find_links` are among what is found.
        constraints: versions of what comes along.
        overrides: requirements that stand in place of what packages ask for themselves.
        find_links: folders with wheels.
    """
    if holds(environment, what):
        print(f"{environment}: {what} is there")
        return
    venv.create(environment, with_pip=True, clear=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
    install(environment, requirements, constraints=constraints, overrides=overrides, find_links=find_links)
    stamp(environment, what)


def holds(environment: Path, what: str) -> bool:
    """Whether the environment was made whole, with just this in it, and its Python is still there."""
    note = environment / STAMP
    runs = (environment / "bin" / "python").exists()  # false for a link to a Python that was removed
    return runs and note.is_file() and note.read_text(encoding="utf-8") == f"{what}\n"


def stamp(environment: Path, what: str) -> None:
    """Note what the environment holds now."""
    (environment / STAMP).write_text(f"{what}\n", encoding="utf-8")


def install(
    environment: Path,
    requirements: Sequence[str],
    *,
    constraints: Sequence[str] = (),
    overrides: Sequence[str] = (),
    find_links: Sequence[Path] = (),
    options: Sequence[str] = (),
) -> None:
    """Install into an environment that `make` has made; `options` are uv's, the rest is as for `make`."""
    python = environment / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        left_out = [f"{name} ; sys_platform == 'never'" for name in LEFT_OUT]
        files = {"constraint": constraints, "override": [*left_out, *overrides]}
        command: list[str | Path] = [
            python,
            "-m",
            "uv",
            "pip",
            "install",
            "--python",
            python,
            "--compile-bytecode",
            *options,
            *requirements,
        ]
        for kind, lines in files.items():
            path = Path(folder, f"{kind}s.txt")
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            command += [f"--{kind}", path]
        for place in find_links:
            command += ["--find-links", place]
        subprocess.run([*command, *index(python), *torch_source(python)], check=True)


def index(python: Path) -> list[str]:
    """The package index that pip is configured for, as options for uv, which does not read pip's configuration."""
    if any(name in os.environ for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")):
        return []
    found = pip_setting(python, "index-url") or os.environ.get("PIP_INDEX_URL", "")
    return ["--default-index", found] if found else []


def pip_setting(python: Path, name: str) -> str:
    """What the configuration of pip has under a name, "" for nothing."""
    command = [python, "-m", "pip", "config", "get", f"global.{name}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def torch_source(python: Path) -> list[str]:
    """Where torch for the CPU is found, as options for uv: wheels on this machine, as its pip is configured.

    Where there are none, uv itself is asked for the CPU build.
    """
    found = pip_setting(python, "find-links").split()
    found += os.environ.get("PIP_FIND_LINKS", "").split()
    folders = [
        folder for folder in dict.fromkeys(found) if Path(folder).is_dir() and any(Path(folder).glob("torch-*"))
    ]
    if folders:
        return [word for folder in folders for word in ("--find-links", folder)]
    return ["--torch-backend=cpu"]
