"""The Linux calls that the sandbox needs and Python does not wrap."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
import tempfile
from pathlib import Path

from healthcheck.sandbox import syscalls

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
_KEPT = {os.ST_NOSUID: MS_NOSUID, os.ST_NODEV: MS_NODEV, os.ST_NOEXEC: MS_NOEXEC}
_MNT_DETACH = 2
_PR_SET_KEEPCAPS = 8
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER = 1, 4, 24, 36
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")
_CAPABILITIES_3 = 0x20080522
_FROM_HERE, _RECURSIVE = -100, 0x8000
_ESCAPED = re.compile(rb"\\([0-7]{3})")
"""An octal escape of a byte in a path of mountinfo."""

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces; a new PID namespace applies to its next child."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system, or change a mount's flags."""
    arguments = [text.encode("utf-8", "surrogateescape") or None for text in (source, target, kind)]
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() or None)
    _checked(result, f"mount {source or kind} on {target}")


def bind_read_only(source: str, target: str) -> None:
    """Bind a file or folder to a second place, read-only with everything that is mounted below it.

    Raises:
        OSError: part of it would stay writable.
    """
    mount(source, target, flags=MS_BIND | MS_REC)
    wanted = struct.pack("4Q", MS_RDONLY | MS_NOSUID, 0, 0, 0)
    attributes = ctypes.create_string_buffer(wanted, len(wanted))
    number = syscalls.number("mount_setattr")
    if call(number, _FROM_HERE, os.fsencode(target), _RECURSIVE, attributes, len(wanted)) < 0:
        places = _mounted(target)  # before Linux 5.12, or where a filter refuses mount_setattr
        if not places:
            raise OSError(errno.EINVAL, f"{target}: no mount of this name in /proc/self/mountinfo")
        for place in places:
            _remount_read_only(place)


def show_read_only(source: str, target: str) -> None:
    """Show a folder or a file read-only, if possible as an overlay, so that mountinfo does not name its real place.

    Raises:
        OSError: part of it would stay writable.
    """
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as room:
        mount("tmpfs", room, "tmpfs", MS_NOSUID)
        os.chdir(room)
        try:
            _overlay(source, target)
        except OSError:  # not on this kernel or file system, or not whole
            bind_read_only(source, target)
        finally:
            os.chdir("/")
            _checked(_libc.umount2(os.fsencode(room), _MNT_DETACH), "umount2")


def _overlay(source: str, target: str) -> None:
    """Bind a folder or a file from an overlay, which names what lies below it by relative paths."""
    folder, name = os.path.split(source) if os.path.isfile(source) else (source, "")
    for each in ("below", "empty", "shown"):
        os.mkdir(each)
    bind_read_only(folder, "below")
    if len(_mounted("below")) > 1:
        raise OSError(errno.EXDEV, "an overlay does not show what is mounted below it")
    mount("overlay", "shown", "overlay", MS_RDONLY | MS_NOSUID, "lowerdir=below:empty")
    bind_read_only(f"shown/{name}", target)


def _remount_read_only(place: str) -> None:
    """Remount one place read-only, with the flags that the kernel has locked."""
    locked = os.statvfs(place).f_flag
    kept = sum(flag for bit, flag in _KEPT.items() if locked & bit)
    mount("", place, flags=MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | kept)


def _mounted(folder: str) -> list[str]:
    """Every mount point at or below a folder."""
    top = os.fsencode(os.path.realpath(folder))
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    places = [
        _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4]) for line in lines
    ]
    return [os.fsdecode(place) for place in places if place == top or place.startswith(top + b"/")]


def enter_root(root: str) -> None:
    """Make `root` (a mount point) the root of this mount namespace and detach the old root."""
    os.chdir(root)
    checked(syscalls.number("pivot_root"), b".", b".")
    _checked(_libc.umount2(b".", _MNT_DETACH), "umount2")
    os.chdir("/")


def detached_proc(place: str) -> int:
    """Open a writable /proc of this PID namespace that no path leads to."""
    mount("proc", place, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    _checked(_libc.umount2(place.encode(), _MNT_DETACH), "umount2")
    return handle


def loopback_up() -> None:
    """Bring up the loopback device of this network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(handle, _SIOCGIFFLAGS, request))
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def drop_privileges() -> None:
    """Give up every capability for good, for this process and its descendants."""
    for capability in range(
        int(_LAST_CAPABILITY.read_text("ascii")) + 1 if _LAST_CAPABILITY.exists() else 41
    ):
        _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(_PR_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    no_new_privileges()


def no_new_privileges() -> None:
    """Stop set-user-id programs from gaining rights, from now on."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0), "prctl(NO_NEW_PRIVS)")


def die_with_parent(signal_number: int) -> None:
    """Let the kernel send this process a signal when its parent ends; a change of user resets that."""
    _checked(
        _libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number), 0, 0, 0), "prctl(PDEATHSIG)"
    )


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _checked(
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0), "prctl(CHILD_SUBREAPER)"
    )


def call(number: int, *arguments: object) -> int:
    """Make a system call by its number; returns -errno on failure."""
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    _libc.syscall.restype = ctypes.c_long
    result = int(_libc.syscall(ctypes.c_long(number), *given))
    return -ctypes.get_errno() if result < 0 else result


def checked(number: int, *arguments: object) -> int:
    """Make a system call by its number.

    Raises:
        OSError: the call failed.
    """
    result = call(number, *arguments)
    if result < 0:
        raise OSError(-result, f"system call {number}: {os.strerror(-result)}")
    return result


def not_dumpable() -> None:
    """Keep other processes of this user from reading this process's memory."""
    _checked(_libc.prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(0), 0, 0, 0), "prctl(SET_DUMPABLE)")


def become_with_capabilities(user: int) -> None:
    """Become a user, but keep all capabilities until the next execve: new files belong to the user."""
    _checked(_libc.prctl(_PR_SET_KEEPCAPS, ctypes.c_ulong(1), 0, 0, 0), "prctl(SET_KEEPCAPS)")
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    held = int(Path("/proc/self/status").read_text("ascii").partition("CapPrm:")[2].split()[0], 16)
    halves = (held & 0xFFFFFFFF, held >> 32)
    set_capabilities(b"".join(struct.pack("III", half, half, 0) for half in halves))
    _checked(_libc.prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(1), 0, 0, 0), "prctl(SET_DUMPABLE)")


def drop_capabilities() -> None:
    """Give up this process's capabilities without an execve."""
    set_capabilities(bytes(24))


def set_capabilities(sets: bytes) -> None:
    """Set the capability sets of this process, in the layout of capset(2)."""
    header = ctypes.create_string_buffer(struct.pack("Ii", _CAPABILITIES_3, 0))
    checked(syscalls.number("capset"), header, ctypes.create_string_buffer(sets, len(sets)))


def open_low_ports() -> None:
    """Let every user of this network namespace listen at ports below 1024, as root in the service's image may."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0", encoding="ascii")
