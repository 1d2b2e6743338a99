"""Numbers of Linux system calls by machine."""

from __future__ import annotations

import errno
import os

from healthcheck.system.files import DATA

_TABLE = (DATA / "syscalls.txt").read_text("ascii")
"""Name, number on x86_64, number on aarch64; "-" if the machine has no such call."""
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The value that identifies the machine to a seccomp filter (linux/audit.h)."""


def machine() -> str:
    return os.uname().machine


def audit_arch() -> int | None:
    """The `arch` of a seccomp filter on this machine; None if its numbers are unknown."""
    return _AUDIT.get(machine())


def numbers() -> dict[str, int]:
    """Every known call of this machine, by name."""
    column = {"x86_64": 1, "aarch64": 2}.get(machine())
    rows = [line.split() for line in _TABLE.splitlines()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"} if column else {}


def number(name: str) -> int:
    """The number of a call on this machine.

    Raises:
        OSError: it is not known.
    """
    found = numbers().get(name)
    if found is None:
        raise OSError(errno.ENOSYS, f"the number of {name} is not known on {machine()}")
    return found
