"""Numbers of Linux system calls by machine."""

from __future__ import annotations

import errno
import os

_TABLE = """
kill 62 129;tkill 200 130;tgkill 234 131;rt_sigqueueinfo 129 138;rt_tgsigqueueinfo 297 240;pidfd_send_signal 424 424
ptrace 101 117;process_vm_readv 310 270;process_vm_writev 311 271;pidfd_getfd 438 438;kcmp 312 272
perf_event_open 298 241;bpf 321 280;userfaultfd 323 282;add_key 248 217;request_key 249 218;keyctl 250 219
mount 165 40;umount2 166 39;pivot_root 155 41;chroot 161 51;unshare 272 97;setns 308 268;clone 56 220;clone3 435 435
open_tree 428 428;move_mount 429 429;fsopen 430 430;fsconfig 431 431;fsmount 432 432;fspick 433 433
mount_setattr 442 442;io_uring_setup 425 425;io_uring_enter 426 426;io_uring_register 427 427
open_by_handle_at 304 265;kexec_load 246 104;kexec_file_load 320 294;init_module 175 105;finit_module 313 273
delete_module 176 106;reboot 169 142;swapon 167 224;swapoff 168 225;acct 163 89;quotactl 179 60;quotactl_fd 443 443
settimeofday 164 170;clock_settime 227 112;clock_adjtime 305 266;adjtimex 159 171;sethostname 170 161
setdomainname 171 162;syslog 103 116;shmget 29 194;semget 64 190;msgget 68 186;mq_open 240 180;fanotify_init 300 262
truncate 76 45;open 2 -;openat 257 56;openat2 437 437;creat 85 -;chmod 90 -;fchmod 91 52;fchmodat 268 53
fchmodat2 452 452;chown 92 -;fchown 93 55;lchown 94 -;fchownat 260 54;setxattr 188 5;lsetxattr 189 6;fsetxattr 190 7
getxattr 191 8;lgetxattr 192 9;fgetxattr 193 10;listxattr 194 11;llistxattr 195 12;flistxattr 196 13
getxattrat 464 464;listxattrat 465 465
removexattr 197 14;lremovexattr 198 15;fremovexattr 199 16;setxattrat 463 463;removexattrat 466 466
socket 41 198;connect 42 203;bind 49 200;listen 50 201;accept 43 202;accept4 288 242;prlimit64 302 261
vhangup 153 58;setpriority 141 140;ioprio_set 251 30;sched_setaffinity 203 122;sched_setscheduler 144 119
sched_setparam 142 118;sched_setattr 314 274;migrate_pages 256 238;move_pages 279 239;process_madvise 440 440
process_mrelease 448 448;pidfd_open 434 434;inotify_init 253 -;inotify_init1 294 26
memfd_create 319 279;memfd_secret 447 447;file_setattr 469 469;open_tree_attr 467 467
fcntl 72 25;ioctl 16 29;socketpair 53 199;capset 126 91
seccomp 317 277;landlock_create_ruleset 444 444;landlock_add_rule 445 445;landlock_restrict_self 446 446
"""
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
    rows = [entry.split() for line in _TABLE.split("\n") for entry in line.split(";") if entry]
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
