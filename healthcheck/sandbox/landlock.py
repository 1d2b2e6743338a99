"""Landlock: irrevocable limits on the files, TCP connections and signals of a process and its descendants."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Mapping

from healthcheck.sandbox import kernel

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP = 0b11
"""LANDLOCK_ACCESS_NET_BIND_TCP and LANDLOCK_ACCESS_NET_CONNECT_TCP."""
_SCOPED = 0b11
"""LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and LANDLOCK_SCOPE_SIGNAL."""
_CREATE, _ADD, _RESTRICT = 444, 445, 446
TCP_ABI, SCOPE_ABI = 4, 6


def abi() -> int:
    """The version of Landlock on this kernel; 0 if it has none."""
    return max(0, kernel.call(_CREATE, None, 0, 1))


def restrict_files(rights: Mapping[str, bool]) -> None:
    """Allow only these files and folders: reading for all, changing for those with True.

    Raises:
        OSError: the kernel cannot enforce it.
    """
    handled = _BY_ABI[min(abi(), 5)]
    reading = READ | (_IOCTL_DEV & handled)
    _restrict(
        struct.pack("Q", handled),
        {place: handled if writable else reading for place, writable in rights.items()},
    )


def restrict_reach() -> None:
    """If the kernel can, allow no TCP, and no signals and abstract sockets to the outside.

    Raises:
        OSError: the kernel cannot enforce it.
    """
    version = abi()
    if version >= TCP_ABI:
        _restrict(
            struct.pack("QQQ", 0, _TCP, _SCOPED)
            if version >= SCOPE_ABI
            else struct.pack("QQ", 0, _TCP),
            {},
        )


def _restrict(attributes: bytes, allowed: Mapping[str, int]) -> None:
    """Enforce a ruleset with these attributes, in which each place has its rights."""
    given = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = kernel.checked(_CREATE, given, len(attributes), 0)
    try:
        for place, access in allowed.items():
            _allow(ruleset, place, access)
        kernel.no_new_privileges()
        kernel.checked(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, place: str, access: int) -> None:
    try:
        handle = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            access &= _ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, handle))
        kernel.checked(_ADD, ruleset, 1, rule, 0)
    finally:
        os.close(handle)


def existing(places: Iterable[str]) -> list[str]:
    """The real paths of the places that exist, without duplicates."""
    return list(dict.fromkeys(os.path.realpath(place) for place in places if os.path.exists(place)))
