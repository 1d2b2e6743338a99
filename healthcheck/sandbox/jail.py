"""The process that becomes the sandbox, run as `programs.isolated(MODULE, JOB)`; prints the recording as JSON.

With namespaces, it forks the first process of a new PID namespace, and everything in it ends with this process.
Without them, it stays the warden's parent and ends the remaining processes if the warden is killed.

As root, the file system is built with full rights and the program gets a user namespace in which it is an
unprivileged user that no one else is; otherwise everything is built inside a user namespace. Either way neither
the program nor the warden has any capability.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

from healthcheck.sandbox import kernel, outside, processes, warden
from healthcheck.sandbox.guest import BARE, Guest
from healthcheck.sandbox.job import EndedBy, Job, Recording, encoded, job_of
from healthcheck.system import files
from healthcheck.text.messages import msg

_SPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)
ANSWER_BYTES = 64 * 1024**2
_PATIENCE_S = 45.0
"""Added to the limit of the program's own time, for a machine without a processor to spare."""


class _Interrupted(BaseException):
    """A signal asked the sandbox to end."""


def main(guest: Guest = BARE) -> None:
    """Run the job that the command line names, with the guest's additions."""
    with open(sys.argv[1], "rb") as file:
        job = job_of(file.read())
    os.unlink(sys.argv[1])
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    kernel.die_with_parent(signal.SIGKILL if job.isolated else signal.SIGTERM)
    job = replace(job, stranger=outside.stranger(job.mode))
    recording = _isolated(job, guest) if job.isolated else _without_namespaces(job, guest)
    with open(answer, "wb") as stream:
        stream.write(recording)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise _Interrupted


def _isolated(job: Job, guest: Guest) -> bytes:
    """Run the job in namespaces; the first process of the new PID namespace returns the recording."""
    try:
        _enter_namespaces(as_root=job.stranger >= 0)
    except OSError as error:
        return _failure(EndedBy.SETUP, str(error))
    with _worker(job, guest, signal.SIGKILL) as (_, answer):
        return _received(answer, job) or _failure(EndedBy.LOST, msg("it was killed"))


def _without_namespaces(job: Job, guest: Guest) -> bytes:
    """Run the job among the processes of this machine, and always end every process that it started."""
    kernel.adopt_orphans()
    kernel.not_dumpable()
    interrupted = False
    try:
        with _worker(job, guest, None) as (_, answer):
            return _received(answer, job) or _failure(
                EndedBy.LOST, msg("who watched it was killed")
            )
    except _Interrupted:
        interrupted = True
        raise SystemExit(1) from None
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        processes.end_all(os.getpid())
        outside.sweep(job)
        if interrupted:
            files.remove_tree(job.scratch)


@contextlib.contextmanager
def _worker(job: Job, guest: Guest, dies_by: int | None) -> Iterator[tuple[int, int]]:
    """Fork the warden; yields its process id and the descriptor that its recording comes from."""
    parent = os.getpid()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.close(reader)
        try:
            if dies_by:
                _die_with(writer, dies_by)
            tied = partial(_die_with, writer, dies_by) if dies_by else partial(watch_parent, parent)
            recording = encoded(warden.work(job, guest, tied))
        except BaseException as error:  # noqa: BLE001 - the child ends here, whatever it was
            recording = _failure(
                EndedBy.LOST, msg("{name}: {error}", name=type(error).__name__, error=error)
            )
        with open(writer, "wb") as stream:
            stream.write(recording)
        os._exit(0)
    os.close(writer)
    try:
        yield child, reader
    finally:
        os.close(reader)
        processes.end(child)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def _die_with(answer: int, dies_by: int) -> None:
    """End when the parent ends, which closes the other end of the pipe `answer`, or if it has ended already."""
    kernel.die_with_parent(dies_by)
    poll = select.poll()
    poll.register(answer, 0)
    if poll.poll(0):
        os._exit(1)


def watch_parent(parent: int) -> None:
    """Start a thread that ends this process and all below it when its parent is gone."""
    import threading  # noqa: PLC0415 - not in a sandbox of its own

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        processes.end_all(os.getpid())
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _received(answer: int, job: Job) -> bytes:
    """The worker's report; b"" if it ends without one or does not end in time."""
    until, data = time.monotonic() + job.limits.wall_s + _PATIENCE_S, b""
    while (left := until - time.monotonic()) > 0 and len(data) < ANSWER_BYTES:
        if select.select([answer], [], [], left)[0]:
            more = os.read(answer, 1 << 20)
            if not more:
                return data
            data += more
    return b""


def _failure(ended_by: EndedBy, why: str) -> bytes:
    return encoded(Recording(ended_by=ended_by, trouble=why))


def _enter_namespaces(*, as_root: bool) -> None:
    if as_root:
        kernel.unshare(_SPACES)
        return
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(_SPACES | kernel.CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"0 {user} 1"),
        ("gid_map", f"0 {group} 1"),
    ):
        Path("/proc/self", name).write_text(text, encoding="ascii")
