"""Removes what a killed kit left behind, found by the names of its folders."""

from __future__ import annotations

import os

from healthcheck.sandbox import processes
from healthcheck.system import files


def remove_abandoned() -> None:
    """Remove the temporary folders of kits that no longer run, and kill what still runs in them."""
    for place in files.abandoned():
        if _is_ours(place):
            end_processes(place)
            files.remove_tree(place)


def end_processes(folder: str) -> None:
    """Kill processes that run in a folder, or have it in their environment as a search path."""
    mark = os.fsencode(folder)
    for _ in range(20):
        left = [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and _belongs(int(name), folder, mark)
        ]
        if not left:
            return
        for pid in left:
            processes.end(pid)


def _belongs(pid: int, folder: str, mark: bytes) -> bool:
    if pid == os.getpid():
        return False
    try:
        where = os.readlink(f"/proc/{pid}/cwd")
        if where.startswith(f"{folder}/"):
            return True
        with open(f"/proc/{pid}/environ", "rb") as file:
            return b"=" + mark + b"/" in file.read(1 << 17)
    except OSError:
        return False


def _is_ours(place: str) -> bool:
    """Whether this user made the folder, or this user is root and the folder belongs to the user of a dry run."""
    try:
        owner = os.lstat(place).st_uid
    except OSError:
        return False
    return owner == os.geteuid() or (os.geteuid() == 0 and owner >= 60_000)
