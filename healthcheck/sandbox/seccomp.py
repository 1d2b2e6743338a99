"""The system call filter of the sandboxed program: refuses what no start script needs.

It allows or refuses, and asks nobody. It decides by the numbers of a call and of its arguments, which nothing can
change after the decision.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from healthcheck.sandbox import kernel, syscalls
from healthcheck.sandbox.protocol import NO_ATTRIBUTES, NO_MEMORY, NO_NETWORK, NO_OTHERS

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_SET_MODE_FILTER = 1
_NEW_ANY = 0x7E020000
"""The flags of clone(2) that create a namespace."""
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, which a network namespace keeps inside; AF_VSOCK leads out of it."""
_UNIX, _STREAM, _SEQPACKET, _TYPE_MASK = 1, 1, 5, 0xF
_OWNER_BY_FCNTL, _OWNER_BY_IOCTL = (8, 10, 15), (0x8901, 0x8902)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX; FIOSETOWN, SIOCSPGRP."""
_OF_FILES = (
    0x40086602,
    0x40046602,
    0x401C5820,
    0x40087602,
    0x40047602,
    0x40806685,
    0x800C6613,
    0x40047211,
)
"""FS_IOC_SETFLAGS, FSSETXATTR, SETVERSION (each of two sizes where there are two), ENABLE_VERITY,
SET_ENCRYPTION_POLICY and FAT_IOCTL_SET_ATTRIBUTES: a handle for reading is enough for them.
"""
_ACCESS_MODE, _TRUNCATES = 0o3, 0o1000
_KEPT_FROM_ALL = """
ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp perf_event_open bpf userfaultfd add_key request_key
keyctl mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick
mount_setattr open_by_handle_at kexec_load kexec_file_load init_module finit_module delete_module reboot
swapon swapoff acct quotactl quotactl_fd settimeofday clock_settime clock_adjtime adjtimex sethostname
setdomainname syslog fanotify_init vhangup
"""
_UNKNOWN_TO_ALL = "clone3 io_uring_setup io_uring_enter io_uring_register pidfd_send_signal"
"""Refused with ENOSYS: libraries then use older calls."""
_MEMORY = "shmget semget msgget mq_open memfd_create memfd_secret"
"""Their objects outlive the processes, or are memory that no process has."""
_SOCKETS = "socket connect bind listen accept accept4"
_OF_A_PROCESS = (
    "sched_setaffinity sched_setscheduler sched_setparam sched_setattr migrate_pages "
    "move_pages prlimit64"
)
_OF_A_KIND = {"setpriority": 2, "ioprio_set": 3}
"""Calls with a kind and a number; this kind are all processes of a user, and 0 is the caller's own number."""
_SIGNALS = "tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo"
_MODES = "chmod fchmod fchmodat fchmodat2"
_ATTRIBUTES = "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr"
_ASKED_ATTRIBUTES = "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"
"""Landlock lets a program ask them of any file: where a download came from, for instance."""
_UNKNOWN_ON_FILES = "openat2 setxattrat removexattrat file_setattr open_tree_attr"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the low half of an argument: with the mask, it equals `value`, or differs from it."""

    argument: int
    value: int
    mask: int = 0xFFFFFFFF
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """The action for a call that meets every condition."""

    call: str
    action: int
    conditions: tuple[Condition, ...] = ()


def refuse(number: int) -> int:
    """The action that makes a call fail with this error number."""
    return _REFUSE | number


def everywhere() -> Iterator[Rule]:
    """The rules of every mode: no rights, no memory of no process, no socket that leads out of a namespace."""
    yield from _all(_KEPT_FROM_ALL, errno.EPERM)
    yield from _all(_UNKNOWN_TO_ALL, errno.ENOSYS)
    yield from _all(_MEMORY, NO_MEMORY)
    other = tuple(Condition(0, family, differs=True) for family in _FAMILIES)
    yield Rule("socket", refuse(errno.EAFNOSUPPORT), other)
    for bit in (1 << number for number in range(32) if _NEW_ANY >> number & 1):
        yield Rule("clone", refuse(errno.EPERM), (Condition(0, bit, bit),))


def outside() -> Iterator[Rule]:
    """Without namespaces: no socket but a pair, no other process by number."""
    yield from _all(_SOCKETS, NO_NETWORK)
    kinds = (Condition(1, kind, _TYPE_MASK, differs=True) for kind in (_STREAM, _SEQPACKET))
    for conditions in (tuple(kinds), (Condition(0, _UNIX, differs=True),)):
        yield Rule("socketpair", refuse(NO_NETWORK), conditions)
    yield from _all("inotify_init inotify_init1 pidfd_open getxattrat listxattrat", errno.ENOSYS)
    yield from _all(_ASKED_ATTRIBUTES, errno.EOPNOTSUPP)
    yield from _all("process_madvise process_mrelease", NO_OTHERS)
    for name in _OF_A_PROCESS.split():
        yield Rule(name, refuse(NO_OTHERS), (Condition(0, 0, differs=True),))
    for name, users in _OF_A_KIND.items():
        for condition in (Condition(0, users), Condition(1, 0, differs=True)):
            yield Rule(name, refuse(NO_OTHERS), (condition,))
    for name, commands in (("fcntl", _OWNER_BY_FCNTL), ("ioctl", _OWNER_BY_IOCTL)):
        # The owner of a handle gets a signal, of any number, when the handle is ready.
        yield from (Rule(name, refuse(NO_OTHERS), (Condition(1, command),)) for command in commands)


def signals() -> Iterator[Rule]:
    """Where neither the user nor Landlock keeps signals inside: none but to the own group, and to ask who lives."""
    yield Rule(
        "kill", refuse(NO_OTHERS), (Condition(0, 0, differs=True), Condition(1, 0, differs=True))
    )
    yield from _all(_SIGNALS, NO_OTHERS)


def on_files() -> Iterator[Rule]:
    """For a user with files outside, what Landlock allows: attributes, owners, truncating without writing."""
    yield from _all(_MODES, NO_ATTRIBUTES)
    yield from _all(_ATTRIBUTES, errno.EOPNOTSUPP)
    yield from (
        Rule("ioctl", refuse(NO_ATTRIBUTES), (Condition(1, command),)) for command in _OF_FILES
    )
    yield from _all("chown fchown lchown fchownat", errno.EPERM)
    yield from _all(_UNKNOWN_ON_FILES, errno.ENOSYS)
    yield Rule("truncate", refuse(errno.EACCES))
    for name, argument in (("open", 1), ("openat", 2)):
        cuts = (Condition(argument, _TRUNCATES, _TRUNCATES), Condition(argument, 0, _ACCESS_MODE))
        yield Rule(name, refuse(errno.EACCES), cuts)


def _all(names: str, number: int) -> Iterator[Rule]:
    return (Rule(name, refuse(number)) for name in names.split())


def program(wanted: Iterable[Rule]) -> bytes:
    """The filter as BPF instructions. A call that is newer than those of `syscalls` is not known inside.

    Raises:
        OSError: this machine's system call numbers are not known.
    """
    arch, numbers = syscalls.audit_arch(), syscalls.numbers()
    if arch is None:
        raise OSError(errno.ENOSYS, f"no system call numbers are known for {syscalls.machine()}")
    body = [
        _step(_LOAD, 4),
        _step(_EQUAL, arch, 1, 0),
        _step(_RETURN, refuse(errno.ENOSYS)),
        _step(_LOAD, 0),
    ]
    body += [
        _step(_AT_LEAST, max(numbers.values()) + 1, 0, 1),
        _step(_RETURN, refuse(errno.ENOSYS)),
    ]
    for rule in wanted:
        if rule.call in numbers:
            body += _block(numbers[rule.call], rule)
    return b"".join([*body, _step(_RETURN, _ALLOW)])


def _block(number: int, rule: Rule) -> list[bytes]:
    """Instructions for one rule: return its action, or continue after the block with the call's number loaded."""
    tests = 3 * len(rule.conditions)
    steps = [
        _step(_EQUAL, number, 0, tests + 1 + bool(tests))
    ]  # the action, and reloading the number
    for condition in rule.conditions:
        away = tests - len(steps) - 1  # from the comparison to the instruction after the action
        steps += [
            _step(_LOAD, 16 + 8 * condition.argument),
            _step(_AND, condition.mask),
            _step(_EQUAL, condition.value, *((away, 0) if condition.differs else (0, away))),
        ]
    steps.append(_step(_RETURN, rule.action))
    return [*steps, _step(_LOAD, 0)] if tests else steps


def _step(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("HBBI", code, true, false, value & 0xFFFFFFFF)


def install(filter_: bytes) -> None:
    """Filter this process and its descendants from now on.

    Raises:
        OSError: the system allows no filter.
    """
    kernel.no_new_privileges()
    steps = ctypes.create_string_buffer(filter_, len(filter_))
    header = struct.pack("HxxxxxxP", len(filter_) // 8, ctypes.addressof(steps))
    number = syscalls.number("seccomp")
    kernel.checked(number, _SET_MODE_FILTER, 0, ctypes.create_string_buffer(header, len(header)))
