"""Sets up the machine that deploy.sh sees: stubs, the image's files, and only programs that the image may have."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from pathlib import Path

from healthcheck.engines import known
from healthcheck.sandbox.job import HOST, KIT, STANDARD_PATH, Job
from healthcheck.sandbox.protocol import ADDRESS, BETWEEN, LOADING, OFFLINE, TIME_LIMIT, TIMER
from healthcheck.stages.plan.calls import SERVER_IMPORTS
from healthcheck.stages.plan.dry_run.stubs import programs
from healthcheck.stages.plan.dry_run.stubs.image import IMAGE, UNKNOWN_VERSION
from healthcheck.stages.plan.image import (
    IMAGE_FOLDERS,
    IMAGE_PACKAGES,
    PLACEHOLDERS,
    REAL_PROGRAMS,
    STUBBED,
    STUBS,
    STUBS_FOLDER,
    VARIABLES,
)
from healthcheck.stages.plan.importable import FILE as IMPORTABLE

SCRIPTS = "lib/healthcheck/stages/plan/dry_run/stubs"
"""The folder of the stub scripts in the sandbox, below the kit's."""
ENTRY = "healthcheck.stages.plan.dry_run.inside"
"""The module that becomes the sandbox; not imported here."""
_PACKAGE = STUBS_FOLDER.parents[3]
SHARED = ("sandbox/protocol.py", "sandbox/replies.py", "stages/repo/pip_words.py", "stages/plan/calls.py",
          "stages/plan/importable.py")  # fmt: skip
"""Modules that stubs import besides each other; they import nothing from the kit."""

_VLLM = """#!/usr/local/bin/python3
import sys
from vllm.entrypoints.cli.main import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""The program vllm as pip writes it: scripts read the interpreter from its first line, and add lines to it."""

WHERE_MISSING = {
    "wrapper.sh": ("stdbuf", "setsid", "nohup"),
    "nothing.sh": ("ps", "lscpu", "free", "top", "sync"),
}
ONLY_PLAIN = (("server.sh", ("vllm",)), ("nothing.sh", ("ps", "pidof")), ("df.sh", ("df",)))
"""Shell stubs that replace others without isolation, where a stub's Python may be missing."""
ONLY_OWNER = (("chmod.sh", ("chmod",)),)
"""Replaces what may change modes of files outside: the sandbox refuses the call to a user who has some."""
ONLY_LOADING = {"date.sh": ("date",)}
_HIDDEN = re.compile(
    r"(python|pip|pypy|pydoc|idle|2to3|conda|mamba|micromamba|docker|podman|nerdctl|kubectl|nvidia-|nvcc|cuda|rocm"
    r"|rocminfo|systemctl|systemd|service$|journalctl|supervis|screen$|tmux$|byobu|sudo|su$|doas|pkexec|runuser"
    r"|ssh|scp|sftp|rsync|aws$|gcloud|az$|gpg|unshare|nsenter|mount$|umount$|mknod|setpriv|strace|gdb"
    r"|enroot|singularity|apptainer|srun|sbatch|squeue|mpirun|mpiexec)"
)

RENAMED = (
    rb"(?:/vllm-workspace|/workspace|/usr/local/Ascend|/etc/ascend_install\.info)(?![\w.-])"
    rb"|/dev/(?:davinci|devmm_svm|hisi_hdc)"
)
"""What `furnish` adds, as scripts name it."""


def is_absent(job: Job, name: str) -> bool:
    """Whether the image lacks a program of this machine, or a stub replaces it."""
    return (
        name not in REAL_PROGRAMS
        or name in STUBBED
        or name in _lacking(job)
        or bool(_HIDDEN.match(name))
    )


def _lacking(job: Job) -> frozenset[str]:
    return frozenset(job.shown.get("lacks", ()))


def install(job: Job, kit: str, folders: tuple[str, ...]) -> None:
    """Write the stubs to `kit`, which the script sees as `job.kit`, and link them into the folders."""
    lib = f"{kit}/lib/healthcheck"
    os.makedirs(f"{kit}/bin", exist_ok=True)
    _compile()
    for package in ("", "stages", "stages/plan", "stages/plan/dry_run", "stages/repo", "sandbox"):
        os.makedirs(f"{lib}/{package}")
        Path(f"{lib}/{package}/__init__.py").touch()
    for module in SHARED:
        shutil.copyfile(f"{_PACKAGE}/{module}", f"{lib}/{module}")
    shutil.copytree(STUBS_FOLDER, f"{kit}/{SCRIPTS}")
    for table in (IMPORTABLE, SERVER_IMPORTS):
        shutil.copyfile(_PACKAGE / "data" / table, f"{kit}/{table}")
    _libraries(job.packages, f"{kit}/site")
    os.mkfifo(f"{kit}/forever")
    if not job.answers:
        shutil.copyfile(STUBS_FOLDER / "clock.bash", f"{kit}/{LOADING}")
    shown = {
        **job.shown,
        "root": job.root,
        "script": job.script,
        "server_modules": known.MODULES,
        "folder": job.folder and job.working_directory,
    }
    Path(f"{kit}/{IMAGE}").write_text(json.dumps(shown), encoding="ascii")
    words = {
        "#:common": (STUBS_FOLDER / "common.sh").read_text(encoding="ascii"),
        "@KIT@": job.kit, "@HOST@": HOST, "@ADDRESS@": ADDRESS, "@BETWEEN@": BETWEEN, "@TIMER@": TIMER,
        "@SCRIPT@": job.script, "@USER@": job.environment.get("USER", "root"), "@TIME_LIMIT@": TIME_LIMIT,
        "@VLLM@": job.shown.get("versions", {}).get("vllm", UNKNOWN_VERSION),
    }  # fmt: skip
    scripts = {each.name: each.read_text("ascii") for each in STUBS_FOLDER.glob("*.sh")} | {
        "vllm.py": _VLLM
    }
    for program, text in scripts.items():
        body = functools.reduce(lambda body, word: body.replace(*word), words.items(), text)
        Path(f"{kit}/{program}").write_text(body, encoding="ascii")
        os.chmod(f"{kit}/{program}", 0o755)  # noqa: S103 - the program is another user
    for script_name, names in _wanted(job):
        for name in names:
            for folder in folders:
                place = f"{folder}/{name}"
                if not os.path.lexists(place):
                    os.symlink(f"{job.kit}/{script_name}", place)
    if not job.isolated:
        Path(f"{kit}/{OFFLINE}").touch()
        os.makedirs(f"{kit}/hook")
        shutil.copyfile(STUBS_FOLDER / "sitecustomize.py", f"{kit}/hook/sitecustomize.py")


def furnish(job: Job, root: str) -> None:
    """Add the image's folders, packages, CANN and device nodes to the root of the machine that the script sees."""
    for folder in IMAGE_FOLDERS:
        os.makedirs(root + folder)
    os.makedirs(f"{root}/usr/local/bin", exist_ok=True)
    for places in VARIABLES.values():
        for place in places.split(":"):
            os.makedirs(root + place, exist_ok=True)
    _lay_out(root + IMAGE_PACKAGES)
    os.symlink(
        job.machine + IMAGE_PACKAGES,
        f"{root}{KIT}/packages" if job.isolated else f"{job.kit}/packages",
    )
    _ascend(f"{root}/usr/local/Ascend", job.kit)
    shutil.copyfile(STUBS_FOLDER / "ascend_install.info", f"{root}/etc/ascend_install.info")
    numbered = (
        f"davinci{number}" for number in range(job.shown.get("devices", {}).get("count", 1))
    )
    for name in (*numbered, "davinci_manager", "devmm_svm", "hisi_hdc"):
        Path(f"{root}/dev/{name}").touch()


def _lay_out(folder: str) -> None:
    """Create the folders of the image's packages, so that the script can copy files into them."""
    names = (STUBS_FOLDER / "layout.txt").read_text(encoding="ascii").split()
    for name in names:
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    for top in {name.partition("/")[0] for name in names}:
        Path(f"{folder}/{top}/__init__.py").touch()


def _libraries(packages: tuple[str, ...], folder: str) -> None:
    """Copy the pure Python code of the libraries that launchers read their configuration with."""
    for source in packages:
        shutil.copytree(source, f"{folder}/{os.path.basename(source)}", ignore=_NATIVE)


_NATIVE = shutil.ignore_patterns("*.so", "*.pyx", "*.pxd")


def _compile() -> None:
    """Compile the Python stubs, once, if the kit's folder is writable."""
    if not (STUBS_FOLDER / "__pycache__").is_dir():
        import compileall  # noqa: PLC0415 - only the first time

        compileall.compile_dir(STUBS_FOLDER, quiet=2)


def _wanted(job: Job) -> list[tuple[str, tuple[str, ...]]]:
    """The stub scripts, with the names of the programs that exist before the script installs any."""
    lacking = _lacking(job)
    wanted = [
        (script, tuple(name for name in names if name not in lacking))
        for script, names in STUBS.items()
    ]
    for script, names in WHERE_MISSING.items():
        wanted.append((script, tuple(name for name in names if not _is_here(name))))
    missing = (name for name in REAL_PROGRAMS if not (_is_here(name) or _HIDDEN.match(name)))
    wanted.append((programs.PLACEHOLDER, tuple(sorted(PLACEHOLDERS.union(missing) - lacking))))
    wanted += [(programs.stub_of(name), (name,)) for name in job.shown.get("required_programs", ())]
    wanted += () if job.answers else ONLY_LOADING.items()
    if not job.isolated or job.environment.get("USER", "root") != "root":
        wanted.append(("whoami.sh", ("id", "whoami")))
    if job.isolated:
        return wanted
    return [*ONLY_PLAIN, *(ONLY_OWNER if job.stranger < 0 else ()), *wanted]


def _is_here(name: str) -> bool:
    """Whether the system folders of this machine have a program."""
    return shutil.which(name, path=STANDARD_PATH) is not None


def _ascend(folder: str, kit: str) -> None:
    shutil.copytree(STUBS_FOLDER / "ascend", folder, dirs_exist_ok=True)
    for script in Path(folder).rglob("*.sh"):
        script.write_text(script.read_text("ascii").replace("@KIT@", kit), encoding="ascii")
    shutil.copyfile(
        f"{folder}/ascend-toolkit/set_env.sh", f"{folder}/ascend-toolkit/latest/set_env.sh"
    )
    os.symlink("ascend-toolkit", f"{folder}/cann")
    os.makedirs(f"{folder}/mindie/latest/mindie-service/bin")
    os.symlink(
        f"{kit}/server.sh", f"{folder}/mindie/latest/mindie-service/bin/mindieservice_daemon"
    )
    shutil.copyfile(
        f"{folder}/mindie/set_env.sh", f"{folder}/mindie/latest/mindie-service/set_env.sh"
    )
