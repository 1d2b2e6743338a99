"""The child that becomes the sandboxed program: gives up all rights, says that it is ready, waits, is replaced."""

from __future__ import annotations

import os
import resource
import socket
from dataclasses import dataclass

from healthcheck.sandbox import kernel, landlock, outside, seccomp, supervise
from healthcheck.sandbox.job import Job, Mode

MAP, READY, FAILED, GO = b"m", b"r", b"f", b"g"
_NOTHING_TO_RUN = 127
TRACE = 251
"""Where a bash writes its trace, as stubs/trace.sh says; scripts choose smaller numbers for their own files."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The program's ends of what connects it with who watches it."""

    outputs: tuple[int, int]
    trace: int
    gate: socket.socket


def become(job: Job, ends: Ends, *, asks: bool, real_root: bool) -> None:
    """Never returns. Until READY is said, nothing of the submission has run; what fails then is said behind FAILED.

    After GO, what fails is as if the shell had said it: it is the submission's.
    """
    try:
        os.setsid()
        if job.isolated and real_root:
            kernel.become_with_capabilities(job.stranger)
            kernel.unshare(kernel.CLONE_NEWUSER)
            ends.gate.sendall(MAP)
            _await(ends.gate)
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        if not job.isolated:
            outside.become(job.stranger)
        kernel.drop_privileges()
        _limit(job)
        _confine(job, ends.gate, asks=asks)
        null = os.open("/dev/null", os.O_RDONLY)
        for number, handle in enumerate((null, *ends.outputs)):
            os.dup2(handle, number)
        os.dup2(ends.trace, TRACE)
        os.chdir(job.root)
        ends.gate.sendall(READY)
        _await(ends.gate)
    except BaseException as error:  # noqa: BLE001 - the child ends here, whatever it was
        ends.gate.sendall(FAILED + f"{error}".encode("utf-8", "replace")[:500])
        os._exit(_NOTHING_TO_RUN)
    try:
        os.execve(job.shell[0], [*job.shell, job.script], dict(job.environment))  # noqa: S606
    except OSError as error:
        os.write(2, f"{job.shell[0]}: {error.strerror}\n".encode())
    os._exit(_NOTHING_TO_RUN)


def _await(gate: socket.socket) -> None:
    if gate.recv(1) != GO:
        os._exit(_NOTHING_TO_RUN)


def _confine(job: Job, gate: socket.socket, *, asks: bool) -> None:
    """The limits of the program alone: who watches it may signal it and look into it, and not the reverse."""
    if job.mode is Mode.CONFINED:
        landlock.restrict_reach(() if asks else None)
    owns_files = not job.isolated and job.stranger < 0
    wanted = seccomp.rules(isolated=job.isolated, asks=asks, owns_files=owns_files)
    try:
        listener = seccomp.install(seccomp.program(wanted), asks=asks)
    except OSError:
        if not job.isolated:
            raise
        return  # namespaces keep it in by themselves
    if listener is not None:
        supervise.send_listener(gate, listener)
        os.close(listener)


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
