"""The process that builds a sandbox, starts the program in it, and watches it with no more rights than it has.

A failure before the program starts is the system's ("setup") or that of the files to be copied ("copy"). A
failure afterwards never leads to another sandbox.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401 - imported now: the watching user may not read the library
import os
import socket
from collections.abc import Callable
from dataclasses import replace

from healthcheck.sandbox import kernel, outside, processes, program, root, safely
from healthcheck.sandbox.channel import Channel
from healthcheck.sandbox.guest import Guest
from healthcheck.sandbox.job import EndedBy, Job, Recording
from healthcheck.sandbox.protocol import HOST_NAME, RUN
from healthcheck.sandbox.recorder import Recorder
from healthcheck.sandbox.watch import Output, Watch
from healthcheck.text.messages import msg

Started = Callable[[], None]


def work(job: Job, guest: Guest, started: Started) -> Recording:
    """Build the sandbox, run the program and return its recording. `started` is called just before it may run."""
    os.umask(0o022)
    copy = safely.Copy(job.limits.copied_files, job.limits.copied_bytes)
    try:
        copy.measure(job.source)
        if not job.isolated or root.copies_weights(job):
            copy.measure(job.weights)
    except (safely.TooMuch, OSError) as error:
        return Recording(ended_by=EndedBy.COPY, trouble=str(error))
    real_root = job.isolated and job.stranger >= 0
    try:
        proc = _prepare(job, guest, copy)
    except OSError as error:
        return Recording(ended_by=EndedBy.SETUP, trouble=str(error))
    try:
        _fill(job, guest, copy, real_root=real_root)
    except (safely.TooMuch, OSError, RecursionError) as error:
        return Recording(ended_by=EndedBy.COPY, trouble=str(error))
    try:
        channel = Channel(
            f"{job.scratch if job.isolated else ''}{job.kit}/{RUN}", job.limits.records
        )
        if job.isolated:
            kernel.bind_read_only(job.scratch + job.kit, job.scratch + job.kit)
            root.show_processes(job.scratch)
            kernel.enter_root(job.scratch)
        else:
            kernel.adopt_orphans()
            outside.confine(job)
        running = _Running(job, guest, proc, channel, real_root=real_root)
    except OSError as error:
        return Recording(ended_by=EndedBy.SETUP, trouble=str(error))
    started()
    return running.watched()


def _prepare(job: Job, guest: Guest, copy: safely.Copy) -> int | None:
    """Build what does not depend on the submission; returns a writable /proc if the sandbox has its own."""
    if not job.isolated:
        return None
    kernel.loopback_up()
    kernel.open_low_ports()
    socket.sethostname(HOST_NAME)
    root.build(job, guest, job.scratch, copy)
    return kernel.detached_proc(f"{job.scratch}/proc")


def _fill(job: Job, guest: Guest, copy: safely.Copy, *, real_root: bool) -> None:
    if not job.isolated:
        outside.build(job, guest, copy)
        return
    root.fill(job, job.scratch, copy)
    if real_root:
        root.give_away(job, guest, job.scratch)


class _Running:
    """The program, from start to end."""

    def __init__(
        self, job: Job, guest: Guest, proc: int | None, channel: Channel, *, real_root: bool
    ) -> None:
        """Prepare the program up to the wait for GO, and give up all of this process's rights.

        Raises:
            OSError: the program cannot be started here.
        """
        self._job = job
        self._gate, theirs = socket.socketpair()
        (out_reader, out_writer), (err_reader, err_writer), (trace_reader, trace_writer) = (
            os.pipe() for _ in range(3)
        )
        self._child = os.fork()
        if self._child == 0:
            self._gate.close()
            program.become(job, (out_writer, err_writer), trace_writer, theirs, real_root=real_root)
        theirs.close()
        for handle in (out_writer, err_writer, trace_writer):
            os.close(handle)
        if real_root:
            self._map(proc)
        if proc is not None:
            os.close(proc)
        said = self._gate.recv(512)
        if said != program.READY:
            os.waitpid(self._child, 0)
            raise OSError(
                0, said[1:].decode("utf-8", "replace") or "the program could not be prepared"
            )
        self._drop()
        kept = job.limits.kept_output_bytes
        self._outputs = (Output(out_reader, kept), Output(err_reader, kept))
        self._trace = Output(trace_reader, kept)
        self._watch = Watch(
            job, self._child, self._outputs, self._trace, Recorder(job, channel, guest)
        )

    def _map(self, proc: int | None) -> None:
        """Map the program's user to root in its own user namespace."""
        if self._gate.recv(1) != program.MAP:
            return
        for name in ("uid_map", "gid_map"):
            handle = os.open(f"{self._child}/{name}", os.O_WRONLY, dir_fd=proc)
            os.write(handle, f"0 {self._job.stranger} 1".encode())
            os.close(handle)
        self._gate.sendall(program.GO)

    def _drop(self) -> None:
        """Give up every right that the program does not have."""
        outside.become(self._job.stranger)
        kernel.drop_privileges()
        kernel.drop_capabilities()
        kernel.not_dumpable()

    def watched(self) -> Recording:
        """Let the program run, watch it until it ends, and end everything that it started.

        An error in between counts as caused by the program.
        """
        try:
            self._gate.sendall(program.GO)
            return self._watched()
        except (OSError, ValueError, MemoryError, RecursionError) as error:
            return Recording(
                ended_by=EndedBy.LOST,
                trouble=msg("{name}: {error}", name=type(error).__name__, error=error),
            )
        finally:
            processes.end_all(os.getpid())

    def _watched(self) -> Recording:
        watch = self._watch
        ended_by, status, running = watch.until_known()
        said = (self._outputs[0].text(), self._outputs[1].text())
        records = tuple(
            replace(record, alive=watch.recorder.is_there(record, running))
            for record in watch.recorder.found
        )
        after = watch.afterwards() if ended_by is EndedBy.SERVER else ""
        processes.end_all(os.getpid())
        return Recording(
            ended_by=ended_by,
            exit_status=status,
            stdout=said[0],
            stderr=said[1],
            trace=self._trace.text(),
            records=records,
            stderr_after=after,
            asked=watch.recorder.notes.asked,
            slept_s=watch.slept_s(),
            marks=tuple(sorted(watch.recorder.notes.marks)),
            refused_ports=watch.recorder.refused_ports(),
            unknown_models=tuple(sorted(watch.recorder.unknown_models)),
        )
