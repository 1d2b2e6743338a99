"""The child that becomes the sandboxed program: drops its rights, reports READY, waits for GO and calls execve."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterable

from healthcheck.sandbox import kernel, landlock, outside, seccomp
from healthcheck.sandbox.job import Job, Mode

MAP, READY, FAILED, GO = b"m", b"r", b"f", b"g"
_NOTHING_TO_RUN = 127
TRACE = 251
"""The descriptor of bash's trace, as in stubs/trace.sh; scripts use smaller numbers for their own files."""


def become(
    job: Job, outputs: tuple[int, int], trace: int, gate: socket.socket, *, real_root: bool
) -> None:
    """Prepare this process and execute the script; never returns. `gate` leads to the warden.

    Nothing of the submission runs before READY. A failure before it is sent after FAILED. After GO, a failure goes
    to standard error like the shell's own and counts as the submission's.
    """
    try:
        os.setsid()
        if job.isolated and real_root:
            kernel.become_with_capabilities(job.stranger)
            kernel.unshare(kernel.CLONE_NEWUSER)
            gate.sendall(MAP)
            _await(gate)
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        if not job.isolated:
            outside.become(job.stranger)
        kernel.drop_privileges()
        _limit(job)
        _confine(job)
        null = os.open("/dev/null", os.O_RDONLY)
        for number, handle in enumerate((null, *outputs)):
            os.dup2(handle, number)
        os.dup2(trace, TRACE)
        os.chdir(job.working_directory)
        gate.sendall(READY)
        _await(gate)
    except BaseException as error:  # noqa: BLE001 - the child ends here, whatever it was
        gate.sendall(FAILED + f"{error}".encode("utf-8", "replace")[:500])
        os._exit(_NOTHING_TO_RUN)
    try:
        os.execve(job.shell[0], [*job.shell, job.called], dict(job.environment))  # noqa: S606
    except OSError as error:
        os.write(2, f"{job.shell[0]}: {error.strerror}\n".encode())
    os._exit(_NOTHING_TO_RUN)


def _await(gate: socket.socket) -> None:
    if gate.recv(1) != GO:
        os._exit(_NOTHING_TO_RUN)


def _confine(job: Job) -> None:
    """Restrict the program but not the warden, which may signal the program and read its memory."""
    if job.mode is Mode.CONFINED:
        landlock.restrict_reach()
        outside.hide_processes(job)
    try:
        seccomp.install(seccomp.program(_rules(job)))
    except OSError:
        if not job.isolated:
            raise
        # the namespaces isolate it without the filter


def _rules(job: Job) -> Iterable[seccomp.Rule]:
    if job.isolated:
        return seccomp.everywhere()
    rules = (*seccomp.everywhere(), *seccomp.outside())
    if job.stranger >= 0:  # a user whose processes and files are those of the dry run
        return rules
    scoped = job.mode is Mode.CONFINED and landlock.abi() >= landlock.SCOPE_ABI
    return (*rules, *seccomp.on_files(), *(() if scoped else seccomp.signals()))


def _limit(job: Job) -> None:
    limits = job.limits
    wanted = {
        resource.RLIMIT_CPU: limits.process_cpu_s,
        resource.RLIMIT_FSIZE: limits.disk_bytes,
        resource.RLIMIT_AS: limits.process_address_bytes,
        resource.RLIMIT_NOFILE: 512,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: limits.processes + outside.other_processes(job),
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))
