"""The system call filter of the sandboxed program: refuses what no start script needs, and asks about some calls.

A call that it asks about waits for the answer of `supervise.Supervisor`, at the other end of the listener.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from healthcheck.sandbox import kernel, syscalls

_ALLOW, _ASK, _REFUSE = 0x7FFF0000, 0x7FC00000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_X32 = 0x40000000
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_ANSWERS = (5, 9)
"""Linux versions that can let a call continue (5.5) and can replace a socket with a connection (5.9)."""
_NEW_ANY = 0x7E020000
"""The flags of clone(2) that create a namespace."""
_FASTOPEN = 0x20000000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _TYPE_MASK, _TCP = 1, 5, 0xF, 6
_OWNER_BY_FCNTL, _OWNER_BY_IOCTL = (8, 10, 15), (0x8901, 0x8902)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX; FIOSETOWN, SIOCSPGRP."""
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
_LEAVES_SOMETHING = "shmget semget msgget mq_open"
"""Their objects outlive the processes, except in an IPC namespace of its own."""
SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
MODES = ("chmod", "fchmod", "fchmodat", "fchmodat2")


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


def rules(*, isolated: bool, asks: bool, owns_files: bool) -> tuple[Rule, ...]:
    """The rules for a mode of the sandbox.

    Args:
        isolated: there are namespaces, so signals, network and IPC stay inside.
        asks: a supervisor answers questions.
        owns_files: the program's user owns files outside the sandbox, whose modes must not change.
    """
    found = [Rule(name, refuse(errno.EPERM)) for name in _KEPT_FROM_ALL.split()]
    found += [Rule(name, refuse(errno.ENOSYS)) for name in _UNKNOWN_TO_ALL.split()]
    found += [Rule("clone", refuse(errno.EPERM), (Condition(0, bit, bit),)) for bit in _bits(_NEW_ANY)]
    if isolated:
        return tuple(found)
    found += [Rule(name, refuse(errno.EPERM)) for name in _LEAVES_SOMETHING.split()]
    found += [Rule("prlimit64", refuse(errno.EPERM), (Condition(0, 0, differs=True),))]
    found += [*_sockets(), *_signals(asks=asks), *_signals_of_handles()]
    if asks:
        found.append(Rule("connect", _ASK))
    if owns_files:
        found += [Rule(name, _ASK if asks else refuse(errno.EPERM)) for name in MODES]
        found += _on_files()
    return tuple(found)


def _bits(mask: int) -> Iterable[int]:
    return (1 << number for number in range(32) if mask >> number & 1)


def _sockets() -> Iterable[Rule]:
    """Allow TCP, local streams and reading the network interfaces; nothing that sends without a connection."""
    for domain in (_INET, _INET6):
        stream = Condition(1, _STREAM, _TYPE_MASK, differs=True)
        yield Rule("socket", refuse(errno.ENETUNREACH), (Condition(0, domain), stream))
        other = (Condition(0, domain), Condition(2, 0, differs=True), Condition(2, _TCP, differs=True))
        yield Rule("socket", refuse(errno.EPROTONOSUPPORT), other)
    kinds = (Condition(1, kind, _TYPE_MASK, differs=True) for kind in (_STREAM, _SEQPACKET))
    local = (Condition(0, _UNIX), *kinds)
    yield from (Rule(name, refuse(errno.EACCES), local) for name in ("socket", "socketpair"))
    yield Rule("socketpair", refuse(errno.EAFNOSUPPORT), (Condition(0, _UNIX, differs=True),))
    yield Rule("socket", refuse(errno.EPERM), (Condition(0, _NETLINK), Condition(2, 0, differs=True)))
    domains = (Condition(0, domain, differs=True) for domain in (_UNIX, _INET, _INET6, _NETLINK))
    yield Rule("socket", refuse(errno.EAFNOSUPPORT), tuple(domains))
    for name, argument in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        yield Rule(name, refuse(errno.EOPNOTSUPP), (Condition(argument, _FASTOPEN, _FASTOPEN),))


def _signals(*, asks: bool) -> Iterable[Rule]:
    if asks:
        yield from (Rule(name, _ASK) for name in SIGNALS)
    else:
        yield Rule("kill", refuse(errno.EPERM), (Condition(0, 0xFFFFFFFF),))


def _signals_of_handles() -> Iterable[Rule]:
    """Refuse to set the owner of a descriptor: it gets a signal, of any number, when the descriptor is ready."""
    for name, commands in (("fcntl", _OWNER_BY_FCNTL), ("ioctl", _OWNER_BY_IOCTL)):
        yield from (Rule(name, refuse(errno.EPERM), (Condition(1, command),)) for command in commands)


def _on_files() -> Iterable[Rule]:
    """Refuse what Landlock of older kernels allows: truncating by name or while reading, attributes, owners."""
    yield Rule("truncate", refuse(errno.EACCES))
    yield Rule("openat2", refuse(errno.ENOSYS))
    for name, argument in (("open", 1), ("openat", 2)):
        cuts = (Condition(argument, _TRUNCATES, _TRUNCATES), Condition(argument, 0, _ACCESS_MODE))
        yield Rule(name, refuse(errno.EACCES), cuts)
    for name in ("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"):
        yield Rule(name, refuse(errno.EOPNOTSUPP))
    for name in ("setxattrat", "removexattrat"):
        yield Rule(name, refuse(errno.ENOSYS))
    for name in ("chown", "fchown", "lchown", "fchownat"):
        yield Rule(name, refuse(errno.EPERM))


def program(wanted: Iterable[Rule]) -> bytes:
    """The filter as BPF instructions.

    Raises:
        OSError: this machine's system call numbers are not known.
    """
    arch, numbers = syscalls.audit_arch(), syscalls.numbers()
    if arch is None:
        raise OSError(errno.ENOSYS, f"no system call numbers are known for {syscalls.machine()}")
    body = [_step(_LOAD, 4), _step(_EQUAL, arch, 1, 0), _step(_RETURN, refuse(errno.ENOSYS)), _step(_LOAD, 0)]
    body += [_step(_AT_LEAST, _X32, 0, 1), _step(_RETURN, refuse(errno.ENOSYS))]
    for rule in wanted:
        if rule.call in numbers:
            body += _block(numbers[rule.call], rule)
    return b"".join([*body, _step(_RETURN, _ALLOW)])


def _block(number: int, rule: Rule) -> list[bytes]:
    """Instructions for one rule: return its action, or continue after the block with the call's number loaded."""
    tests: list[tuple[int, ...]] = []
    for condition in rule.conditions:
        tests += [
            (_LOAD, 16 + 8 * condition.argument),
            (_AND, condition.mask),
            (_EQUAL, condition.value, condition.differs),
        ]
    length = len(tests) + 2 + bool(tests)  # the action, and reloading the number
    steps = [_step(_EQUAL, number, 0, length - 1)]
    for at, test in enumerate(tests, 1):
        if test[0] == _EQUAL:
            away = len(tests) + 1 - at  # to the instruction after the action
            steps.append(_step(_EQUAL, test[1], *((away, 0) if test[2] else (0, away))))
        else:
            steps.append(_step(test[0], test[1]))
    steps.append(_step(_RETURN, rule.action))
    return [*steps, _step(_LOAD, 0)] if tests else steps


def _step(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("HBBI", code, true, false, value & 0xFFFFFFFF)


def install(filter_: bytes, *, asks: bool) -> int | None:
    """Filter this process and its descendants from now on; returns the listener's descriptor if the filter asks.

    Raises:
        OSError: the system allows no filter, or no listener.
    """
    kernel.no_new_privileges()
    steps = ctypes.create_string_buffer(filter_, len(filter_))
    header = struct.pack("HxxxxxxP", len(filter_) // 8, ctypes.addressof(steps))
    number = syscalls.numbers()["seccomp"]
    flags = _NEW_LISTENER if asks else 0
    handle = kernel.checked(number, _SET_MODE_FILTER, flags, ctypes.create_string_buffer(header, len(header)))
    return handle if asks else None


def can_ask() -> bool:
    """Whether the kernel supports filters that ask, with every kind of answer; tried in a child process."""
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if version is None or (int(version[1]), int(version[2])) < _ANSWERS:
        return False
    child = os.fork()
    if child == 0:
        try:
            install(program((Rule("vhangup", _ASK),)), asks=True)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the child ends here
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0
