# ruff: noqa: INP001 - scripts are no package
"""Virtual environments for other programs, installed by uv with a torch for the CPU and no packages of CUDA.

Runs on a plain Python, before anything is installed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

LEFT_OUT = ("torchvision", "torchaudio", "torchcodec", "triton")
"""Packages that come with torch; the registry's builds are for CUDA and break beside a torch for the CPU."""
STAMP = "npu-adapter-kit.txt"
QUIET_SECONDS = 8
"""The longest silence of an installation."""


def make(
    environment: Path,
    what: str,
    requirements: Sequence[str],
    *,
    effort: str = "",
    constraints: Sequence[str] = (),
    overrides: Sequence[str] = (),
    find_links: Sequence[Path] = (),
) -> None:
    """Make the environment, unless it holds exactly this already.

    Args:
        environment: the folder; emptied first.
        what: its contents with versions, on one line.
        effort: its size on disk and the time that it takes.
        requirements: what is installed, from the index and the wheels of `find_links`.
        constraints: versions of dependencies.
        overrides: requirements that replace those of packages.
        find_links: folders with wheels.
    """
    if holds(environment, what):
        print(f"{environment}: {what} is there")
        return
    print(f"{environment}: installs {what}{effort and f' ({effort})'}", flush=True)
    venv.create(environment, with_pip=True, clear=True)
    python = environment / "bin" / "python"
    patiently(environment, [python, "-m", "pip", "install", "--quiet", "uv"])
    install(
        environment,
        requirements,
        constraints=constraints,
        overrides=overrides,
        find_links=find_links,
    )
    stamp(environment, what)


def holds(environment: Path, what: str) -> bool:
    """Whether the environment is complete, holds exactly this, and its Python still exists."""
    note = environment / STAMP
    runs = (
        environment / "bin" / "python"
    ).exists()  # false for a link to a Python that was removed
    return runs and note.is_file() and note.read_text(encoding="utf-8") == f"{what}\n"


def stamp(environment: Path, what: str) -> None:
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
    """Install into an environment that `make` has made; `options` are uv's, the other arguments as for `make`."""
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
        patiently(environment, [*command, *index(python), *torch_source(python)])


def patiently(environment: Path, command: Sequence[str | Path]) -> None:
    """Run a command that may say nothing for minutes, and say now and then that it still runs.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    began = time.monotonic()
    with subprocess.Popen(command) as process:
        while True:
            try:
                status = process.wait(QUIET_SECONDS)
                break
            except subprocess.TimeoutExpired:
                print(f"{environment}: {time.monotonic() - began:.0f} s", flush=True)
    if status:
        raise subprocess.CalledProcessError(status, [str(word) for word in command])


def index(python: Path) -> list[str]:
    """The package index of pip's configuration, as options for uv, which does not read that configuration."""
    if any(name in os.environ for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")):
        return []
    found = pip_setting(python, "index-url") or os.environ.get("PIP_INDEX_URL", "")
    return ["--default-index", found] if found else []


def pip_setting(python: Path, name: str) -> str:
    """A setting of pip's configuration; "" if it is not set."""
    command = [python, "-m", "pip", "config", "get", f"global.{name}"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def torch_source(python: Path) -> list[str]:
    """Where to find torch for the CPU, as options for uv: wheels on this machine, if pip's configuration names any.

    Otherwise uv chooses the CPU build.
    """
    found = pip_setting(python, "find-links").split()
    found += os.environ.get("PIP_FIND_LINKS", "").split()
    folders = [
        folder
        for folder in dict.fromkeys(found)
        if Path(folder).is_dir() and any(Path(folder).glob("torch-*"))
    ]
    if folders:
        return [word for folder in folders for word in ("--find-links", folder)]
    return ["--torch-backend=cpu"]
