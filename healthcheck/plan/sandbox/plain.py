"""The sandbox for a system that allows no namespaces: limits, a search path of stand-ins, an own process tree.

It cannot take the network away, and only where the kit runs as root does it run the program as another user, who
can read and change nothing of this one's.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from healthcheck.plan.sandbox import kernel, root, tools
from healthcheck.plan.sandbox.job import STANDARD_PATH, Job

STRANGER = 0x6B69_0000 + os.getpid() % 65536
"""A user id that no one else has: what a root user's rehearsal runs under."""
_CHOWN, _SETGID, _SETUID = 1 << 0, 1 << 6, 1 << 7
"""Linux's capabilities of these names."""


def build(job: Job) -> None:
    """Lay out the copy, the weights (as links) and the stand-ins below the job's scratch folder."""
    os.makedirs(f"{job.kit}/py/bin")
    os.symlink(job.python, f"{job.kit}/py/bin/python3")
    os.makedirs(f"{job.scratch}/home")
    root.copy_tree(job.source, job.root)
    os.makedirs(os.path.dirname(job.weights_inside), exist_ok=True)
    if _has_roots_rights() and not open_to_all(job.weights):
        root.copy_tree(job.weights, job.weights_inside)
    else:
        os.symlink(job.weights, job.weights_inside)
    os.makedirs(f"{job.kit}/bin", exist_ok=True)
    tools.install(job, job.kit, (f"{job.kit}/bin",))
    tools.lay_out(f"{job.kit}/packages")
    os.makedirs(f"{job.kit}/hook")
    shutil.copyfile(tools.FOLDER / "sitecustomize.py", f"{job.kit}/hook/sitecustomize.py")
    if _has_roots_rights():
        for folder, names, files in os.walk(job.scratch):
            for name in (".", *names, *files):
                os.chown(os.path.join(folder, name), STRANGER, STRANGER, follow_symlinks=False)


def _has_roots_rights() -> bool:
    """Whether this user may give files away and become another one; a container can leave its root without."""
    status = Path("/proc/self/status").read_text("ascii", "replace")
    held = int(status.partition("CapEff:")[2].split()[0], 16)
    return os.geteuid() == 0 and held & (needed := _CHOWN | _SETGID | _SETUID) == needed


def open_to_all(path: str) -> bool:
    """Whether a user without any rights can read the file or folder."""
    place = Path(os.path.realpath(path))
    needed = 0o5 if place.is_dir() else 0o4
    return place.stat().st_mode & needed == needed and all(up.stat().st_mode & 0o1 for up in place.parents)


def environment(job: Job) -> dict[str, str]:
    """The search path and home of the plain sandbox."""
    return {
        "PATH": f"{job.kit}/bin:{STANDARD_PATH}",
        "HOME": f"{job.scratch}/home",
        "TMPDIR": f"{job.scratch}/home",
        "PYTHONPATH": f"{job.kit}/hook",
    }


def used_bytes(job: Job) -> int:
    """How much disk the rehearsal takes, up to the point where it is too much."""
    total = 0
    for folder, _, names in os.walk(job.scratch):
        for name in names:
            try:
                total += max(4096, os.lstat(os.path.join(folder, name)).st_blocks * 512)
            except OSError:  # noqa: PERF203 - files come and go
                continue
        if total > 2 * job.limits.disk_bytes:
            break
    return total


def drop_privileges(job: Job) -> None:
    """Become a user that no one else is, where that is possible; gain nothing by set-user-id programs."""
    if _has_roots_rights() and not job.isolated:
        os.setgroups([])
        os.setresgid(STRANGER, STRANGER, STRANGER)
        os.setresuid(STRANGER, STRANGER, STRANGER)
    kernel.no_new_privileges()


def other_processes(job: Job) -> int:
    """How many processes the user runs beside the rehearsal, which a limit per user has to allow for."""
    if job.isolated or os.geteuid() == STRANGER:
        return 0
    user = os.geteuid()
    return sum(_owner(name) == user for name in os.listdir("/proc") if name.isdigit())


def _owner(pid: str) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1
