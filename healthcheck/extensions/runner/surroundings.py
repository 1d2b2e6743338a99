"""The host's memory, processors and limits, and the weights' mount, according to files of the kernel."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass

from healthcheck.machine.interface import Machine
from healthcheck.machine.npu_smi import value_after, whole

_UNLIMITED_BYTES = 2**60
"""A version 1 cgroup without a limit prints the largest number of pages."""
_LIMITS = ("/sys/fs/cgroup{}/memory.max", "/sys/fs/cgroup/memory{}/memory.limit_in_bytes")
_LOCKING = 14
"""CAP_IPC_LOCK: a process with it may lock any amount of memory."""
MAX_DEPTH = 16
MAX_CPUS = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """The memory around the NPUs, in bytes; None is unknown, or no limit.

    Attributes:
        total_bytes: of the machine.
        limit_bytes: the lowest limit of this process's control groups, and its file `limit_file`.
    """

    total_bytes: int | None = None
    limit_bytes: int | None = None
    limit_file: str = ""

    @property
    def most_bytes(self) -> int | None:
        """The most memory that programs here may use."""
        known = [size for size in (self.total_bytes, self.limit_bytes) if size is not None]
        return min(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """The file system of a folder: its type ("nfs4", "overlay") and its mount point."""

    kind: str
    at: str


def limits(machine: Machine, name: str) -> tuple[int | None, int | None]:
    """The soft and the hard limit of this process; None if unlimited or unknown."""
    words = value_after(machine.read("/proc/self/limits") or "", name).split()
    soft, hard = (*words, "", "")[:2]
    return whole(soft), whole(hard)


def _numbers(text: str) -> frozenset[int]:
    """The numbers of a list of ranges, such as "0-23,48-71"; empty for other text."""
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        first, last = whole(low), whole(high or low)
        if first is None or last is None or not first <= last < MAX_CPUS:
            return frozenset()
        found.update(range(first, last + 1))
    return frozenset(found)


def memory(machine: Machine) -> HostMemory:
    info = machine.read("/proc/meminfo") or ""
    limit_bytes, limit_file = min(_limits(machine), default=(None, ""))
    total_kib = whole(value_after(info, "MemTotal:").removesuffix("kB"))
    total_bytes = None if total_kib is None else total_kib * 1024
    return HostMemory(total_bytes=total_bytes, limit_bytes=limit_bytes, limit_file=limit_file)


def _limits(machine: Machine) -> list[tuple[int, str]]:
    """The limits of this process's control groups, from the root to its own group, with their files."""
    files = (file.format(path) for path in _groups(machine) for file in _LIMITS)
    read = ((whole(machine.read(file) or ""), file) for file in files)
    return [(limit, file) for limit, file in read if limit is not None and limit < _UNLIMITED_BYTES]


def _groups(machine: Machine) -> tuple[str, ...]:
    """The paths of the control groups, "" for the root; a container usually sees its own group as the root."""
    paths = {""}
    for line in (machine.read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "", "")[:3]
        if controllers in {"", "memory"} and ".." not in path:
            parts = path.strip("/").split("/")[:MAX_DEPTH]
            paths |= {"/" + "/".join(parts[: depth + 1]) for depth in range(len(parts)) if parts[0]}
    return tuple(sorted(paths))


def processors(machine: Machine) -> int | None:
    """The number of processors that this process may use; None if unknown."""
    return len(_numbers(value_after(machine.read("/proc/self/status") or "", "Cpus_allowed_list:"))) or None


def locked_bytes(machine: Machine) -> int | None:
    """The soft limit of locked memory; None if it is unlimited or unknown, or does not apply to this process."""
    capabilities = value_after(machine.read("/proc/self/status") or "", "CapEff:")
    locks_freely = re.fullmatch(r"[0-9a-f]{1,32}", capabilities) and int(capabilities, 16) >> _LOCKING & 1
    return None if locks_freely else limits(machine, "Max locked memory")[0]


def mount(machine: Machine, folder: str) -> Mount | None:
    """The last mount at the longest path above the folder: later mounts hide earlier ones."""
    places = machine.paths(glob.escape(folder))
    target = (places[0].target if places else "") or folder
    found: Mount | None = None
    for line in (machine.read("/proc/self/mounts") or "").splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        at = words[1].replace("\\040", " ")
        inside = target == at or target.startswith(at.rstrip("/") + "/")
        if inside and (found is None or len(at) >= len(found.at)):
            found = Mount(kind=words[2][:40], at=at[:500])
    return found
