"""Which programs the sandboxed machine has: recording stubs, and those that a clean image lacks."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path

from healthcheck.plan.dry_run.sandbox.job import HOST, Job
from healthcheck.plan.dry_run.stubs.image import IMAGE, UNKNOWN_VERSION
from healthcheck.plan.dry_run.stubs.note import ADDRESS, BETWEEN

FOLDER = Path(__file__).resolve().parent.parent / "stubs"
PACKAGE = FOLDER.parents[2]

_VLLM = """#!/usr/local/bin/python3
import sys
from vllm.entrypoints.cli.main import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""The program as pip writes it: scripts read its first line for the interpreter, and add lines to it."""

STUBS = {
    "vllm.py": ("vllm",),
    "server.sh": (
        "sglang", "lmdeploy", "llama-server", "server", "mindieservice_daemon", "mindie_llm_server",
        "xinference", "xinference-local", "text-generation-launcher", "ollama", "swift", "litellm",
        "llamafactory-cli", "trtllm-serve", "tritonserver", "openllm", "bentoml", "aphrodite", "mlc_llm",
        "streamlit", "gradio", "lightllm", "vllm-omni", "nginx", "haproxy", "caddy", "transformers",
    ),
    "python.sh": (
        "python", "python3", "python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "torchrun",
        "accelerate", "deepspeed", "msrun", "uvicorn", "gunicorn", "hypercorn", "granian", "daphne",
        "waitress-serve", "fastapi", "flask",
    ),
    "client.sh": ("curl", "wget", "nc"),
    "pip.sh": ("pip", "pip3", "pip3.9", "pip3.10", "pip3.11", "pip3.12"),
    "quiet.sh": (
        "poetry", "pipx", "pipenv", "apt-get", "apt",
        "yum", "dnf", "apk", "dpkg", "rpm", "npm", "hccn_tool", "ray", "update-alternatives", "ldconfig",
        "modelscope", "huggingface-cli", "hf", "aria2c", "openmind-cli", "obsutil", "git-lfs", "add-apt-repository",
        "virtualenv", "uv", "uvx",
    ),
    "git.sh": ("git",),
    "npu-smi.sh": ("npu-smi",),
    "sleep.sh": ("sleep", "usleep"),
    "timeout.sh": ("timeout",),
    "address.sh": ("hostname", "ip", "ifconfig"),
    "nothing.sh": ("lsof", "fuser", "pkill", "killall", "pgrep", "ss", "netstat"),
    "find.sh": ("find",),
    "root_only.sh": (
        "useradd", "adduser", "userdel", "usermod", "groupadd", "addgroup", "groupdel", "groupmod", "chpasswd",
        "chown", "chgrp",
    ),
}  # fmt: skip
WHERE_MISSING = {
    "wrapper.sh": ("numactl", "stdbuf", "taskset", "ionice", "chrt", "setsid", "nohup", "unbuffer"),
    "nothing.sh": ("ps", "lscpu", "free", "top", "sync"),
}
ONLY_PLAIN = (("server.sh", ("vllm",)), ("zero.sh", ("id", "whoami")), ("nothing.sh", ("ps", "pidof")))
"""Instead of others; there may be no Python for a stub's first line there."""
ONLY_LOADING = {"date.sh": ("date",)}
LOADING = "loading"
"""There where no server ever gets ready: what a bash reads first, so that its clock goes on while it sleeps."""
TRACE = "trace.sh"
"""What the bash that runs deploy.sh reads first."""
_ABSENT = re.compile(
    r"(python|pip|pypy|pydoc|idle|2to3|conda|mamba|micromamba|docker|podman|nerdctl|kubectl|nvidia-|nvcc|cuda|rocm"
    r"|rocminfo|systemctl|systemd|service$|journalctl|supervis|screen$|tmux$|byobu|sudo|su$|doas|pkexec|runuser"
    r"|ssh|scp|sftp|rsync|aws$|gcloud|az$|gpg|claude|unshare|nsenter|mount$|umount$|mknod|setpriv|strace|gdb"
    r"|enroot|singularity|apptainer|srun|sbatch|squeue|mpirun|mpiexec)"
)


def is_absent(name: str) -> bool:
    """A program that this machine may have and a clean image of the service has not, or a stub replaces."""
    return bool(_ABSENT.match(name)) or name in _REPLACED


def is_stubbed(name: str) -> bool:
    """A program that a stub replaces wherever the search path is kept."""
    return name in _REPLACED


def stubbed() -> frozenset[str]:
    """The programs that stubs replace."""
    return _REPLACED


_REPLACED = frozenset(name for names in STUBS.values() for name in names)


def install(job: Job, kit: str, folders: tuple[str, ...]) -> None:
    """Write the stubs to `kit`/bin (as `job.kit` sees it) and link them into the given folders."""
    for folder in ("bin", "lib/healthcheck/plan/dry_run"):
        os.makedirs(f"{kit}/{folder}", exist_ok=True)
    for package in ("lib/healthcheck", "lib/healthcheck/plan", "lib/healthcheck/plan/dry_run"):
        Path(f"{kit}/{package}/__init__.py").touch()
    _compile()
    shutil.copytree(FOLDER, f"{kit}/lib/healthcheck/plan/dry_run/stubs")
    _libraries(job.packages, f"{kit}/site")
    os.mkfifo(f"{kit}/forever")
    if not job.answers:
        shutil.copyfile(FOLDER / "clock.bash", f"{kit}/{LOADING}")
    Path(f"{kit}/{IMAGE}").write_text(json.dumps(asdict(job.image)), encoding="ascii")
    common = (FOLDER / "common.sh").read_text(encoding="ascii")
    for script in FOLDER.glob("*.sh"):
        body = (
            script.read_text(encoding="ascii")
            .replace("#:common", common)
            .replace("@KIT@", job.kit)
            .replace("@HOST@", HOST)
            .replace("@ADDRESS@", ADDRESS)
            .replace("@VLLM@", job.image.versions.get("vllm", UNKNOWN_VERSION))
            .replace("@BETWEEN@", BETWEEN)
        )
        Path(f"{kit}/{script.name}").write_text(body, encoding="ascii")
        os.chmod(f"{kit}/{script.name}", 0o755)  # noqa: S103 - the program is another user
    Path(f"{kit}/vllm.py").write_text(_VLLM, encoding="ascii")
    os.chmod(f"{kit}/vllm.py", 0o755)  # noqa: S103 - as above
    for script_name, names in _wanted(job):
        for name in names:
            for folder in folders:
                place = f"{folder}/{name}"
                if not os.path.lexists(place):
                    os.symlink(f"{job.kit}/{script_name}", place)


def lay_out(folder: str) -> None:
    """Make the folders of the packages that the image has: what is copied into them finds its place."""
    names = (FOLDER / "layout.txt").read_text(encoding="ascii").split()
    for name in names:
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    for top in {name.partition("/")[0] for name in names}:
        Path(f"{folder}/{top}/__init__.py").touch()


def _libraries(packages: tuple[str, ...], folder: str) -> None:
    """Show the pure Python of the libraries that launchers read their configuration with."""
    for source in packages:
        shutil.copytree(source, f"{folder}/{os.path.basename(source)}", ignore=_NATIVE)


_NATIVE = shutil.ignore_patterns("*.so", "*.pyx", "*.pxd")


def _compile() -> None:
    """Have the Python stubs compiled once and for all, where the kit's own folder can be written to."""
    if not (FOLDER / "__pycache__").is_dir():
        import compileall  # noqa: PLC0415 - only the first time

        compileall.compile_dir(FOLDER, quiet=2)


def _wanted(job: Job) -> list[tuple[str, tuple[str, ...]]]:
    wanted = list(STUBS.items())
    for script, names in WHERE_MISSING.items():
        wanted.append((script, tuple(name for name in names if not shutil.which(name))))
    wanted += () if job.answers else ONLY_LOADING.items()
    return wanted if job.isolated else [*ONLY_PLAIN, *wanted]
