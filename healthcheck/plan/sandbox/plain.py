"""The sandbox for a system that allows no namespaces: limits, a search path of stand-ins, an own process tree.

It cannot take the network away, and only where the kit runs as root does it run the program as another user, who
can read and change nothing of this one's.
"""

from __future__ import annotations

import os
from pathlib import Path

from healthcheck.plan.sandbox import kernel, root, tools
from healthcheck.plan.sandbox.job import STANDARD_PATH, Job

STRANGER = 0x6B69_0000 + os.getpid() % 65536
"""A user id that no one else has: what a root user's rehearsal runs under."""


def build(job: Job) -> None:
    """Lay out the copy, the weights (as links) and the stand-ins below the job's scratch folder."""
    os.makedirs(f"{job.kit}/py/bin")
    os.symlink(job.python, f"{job.kit}/py/bin/python3")
    os.makedirs(f"{job.scratch}/home")
    root.copy_tree(job.source, job.root)
    os.makedirs(os.path.dirname(job.weights_inside), exist_ok=True)
    os.symlink(job.weights, job.weights_inside)
    os.makedirs(f"{job.kit}/bin", exist_ok=True)
    tools.install(job, job.kit, (f"{job.kit}/bin",))
    if os.geteuid() == 0:
        for folder, names, files in os.walk(job.scratch):
            for name in (".", *names, *files):
                os.chown(os.path.join(folder, name), STRANGER, STRANGER, follow_symlinks=False)


def environment(job: Job) -> dict[str, str]:
    """The search path and home of the plain sandbox."""
    return {
        "PATH": f"{job.kit}/bin:{STANDARD_PATH}",
        "HOME": f"{job.scratch}/home",
        "TMPDIR": f"{job.scratch}/home",
    }


def drop_privileges(job: Job) -> None:
    """Become a user that no one else is, where that is possible; gain nothing by set-user-id programs."""
    if os.geteuid() == 0 and not job.isolated:
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
