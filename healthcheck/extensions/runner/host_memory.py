"""The host's memory and its limits, by files of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.machine.interface import Machine
from healthcheck.machine.npu_smi import value_after, whole

_UNLIMITED_BYTES = 2**60
"""A version 1 cgroup without a limit prints the largest number of pages."""
_LIMITS = ("/sys/fs/cgroup{}/memory.max", "/sys/fs/cgroup/memory{}/memory.limit_in_bytes")
MAX_DEPTH = 16


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


def host_memory(machine: Machine) -> HostMemory:
    """The memory of the machine, and the lowest limit for this process."""
    total_kib = whole(
        value_after(machine.read("/proc/meminfo") or "", "MemTotal:").removesuffix("kB")
    )
    limit_bytes, limit_file = min(_limits(machine), default=(None, ""))
    return HostMemory(
        total_bytes=None if total_kib is None else total_kib * 1024,
        limit_bytes=limit_bytes,
        limit_file=limit_file,
    )


def _limits(machine: Machine) -> list[tuple[int, str]]:
    """The limits of this process's control groups, from the root to its own group, with their files."""
    files = [file.format(path) for path in _groups(machine) for file in _LIMITS]
    read = [(whole(machine.read(file) or ""), file) for file in files]
    return [(limit, file) for limit, file in read if limit is not None and limit < _UNLIMITED_BYTES]


def _groups(machine: Machine) -> list[str]:
    """The paths of the control groups, "" for the root; a container usually sees its own group as the root."""
    paths = {""}
    for line in (machine.read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "", "")[:3]
        if controllers in {"", "memory"} and ".." not in path:
            parts = [part for part in path.split("/") if part][:MAX_DEPTH]
            paths |= {"/" + "/".join(parts[: depth + 1]) for depth in range(len(parts))}
    return sorted(paths)
