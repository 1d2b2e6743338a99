"""What a machine is asked besides the questions of `healthcheck.machine`: its disks and ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from healthcheck.machine.interface import Machine
from healthcheck.system.processes import Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A file system: its size, and the bytes that this user may still fill."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpeed:
    """A short read from a disk.

    Attributes:
        of: the file: one of the weights, or one written for the measurement.
        cached: whether it came through the page cache, because the file system has no other way.
    """

    read_bytes: int
    seconds: float
    of: str
    cached: bool = False

    @property
    def bytes_per_s(self) -> float:
        return self.read_bytes / max(self.seconds, 1e-6)


class WholeMachine(Machine, Protocol):
    """The questions to a machine that is validated."""

    def space(self, path: str) -> Space | None:
        """The file system under a path."""

    def read_speed(self, folder: str) -> ReadSpeed | None:
        """The disk's read speed: half a second of reading the folder's largest file, or one made for it."""

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        """The processes that prevent a server from listening on the port."""
