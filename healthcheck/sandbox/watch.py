"""Watches a sandboxed program until its behaviour is known or it reaches a limit."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection

from healthcheck.sandbox import outside, processes
from healthcheck.sandbox.job import EndedBy, Job, Limits
from healthcheck.sandbox.protocol import TIMER
from healthcheck.sandbox.recorder import Recorder

_POLL_S = 0.01
_LOOK_S = 0.1
"""The longest time that one look counts for: on a busy machine, the watched program waits as well."""
_SLOWEST, _GRAIN_S = 10, 0.1
_CALM_S = 0.15
"""If nothing ran, started or was recorded for this long, every process waits."""
_SERVED_S = 2.0
"""A script that is still busy this long after its server came up stays, as a supervising loop does."""
_SUPERVISED_S = 3600.0
"""So does a script that meant to sleep for an hour since then."""
_ORPHANS_S = 2.0
_STUCK_S = 3.0
_AFTERWARDS_S = 0.2
_DISK_S = 0.3


class Output:
    """A pipe's output: keeps its head and tail, and counts the rest."""

    def __init__(self, handle: int, kept: int) -> None:
        os.set_blocking(handle, False)
        self._handle, self._kept = handle, kept
        self._head, self._tail = b"", b""
        self.count = 0

    def drain(self) -> None:
        for _ in range(64):
            try:
                data = os.read(self._handle, 65536)
            except OSError:
                return
            if not data:
                return
            self.count += len(data)
            room = self._kept - len(self._head)
            self._head += data[:room]
            self._tail = (self._tail + data[max(0, room) :])[-self._kept :]

    def forget(self) -> None:
        """Discard the text so far."""
        self._head, self._tail = b"", b""

    def text(self) -> str:
        gap = b"\n[...]\n" if self.count > 2 * self._kept else b""
        return (self._head + gap + self._tail).decode("utf-8", "replace")


class _Clock:
    """The time that the dry run had.

    It stands still while this process is not scheduled, and slows down, at most to a tenth, while the program waits
    for a processor or the disk: on a busy machine, limits leave room for as much work as on an idle one.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        self._last = time.monotonic()
        self._used_s = processes.used_s(())
        self._had_s = 0.0
        """Processor time, and time in which nothing waited for processor or disk; never ahead of `now_s`."""

    def look(self, family: Collection[processes.Process]) -> None:
        now, used_s = time.monotonic(), processes.used_s(family)
        passed_s = min(now - self._last, _LOOK_S)
        idle_s = 0.0 if any(process.state in "RD" for process in family) else passed_s
        had_s = self._had_s + idle_s + max(0.0, used_s - self._used_s)
        self.now_s = min(
            self.now_s + passed_s, max(self.now_s + passed_s / _SLOWEST, had_s + _GRAIN_S)
        )
        self._last, self._used_s, self._had_s = now, used_s, min(had_s, self.now_s)


class Watch:
    """One sandboxed program and everything that it started."""

    def __init__(
        self,
        job: Job,
        child: int,
        outputs: tuple[Output, Output],
        trace: Output,
        recorder: Recorder,
    ) -> None:
        self._job, self._child, self._outputs = job, child, outputs
        self._drained = (*outputs, trace)
        self.recorder = recorder
        self._status: int | None = None
        self._exited_at = self._served_at = 0.0
        self._slept_before_s = self._measured_s = 0.0
        self._at_first_bytes = 0 if job.isolated else outside.used_bytes(job)
        self._signature: object = None
        self._clock = _Clock()
        self._calm_since = 0.0

    def until_known(self) -> tuple[EndedBy, int | None, frozenset[int]]:
        """Wait until it is clear how the program ends; returns that, its exit status if any, and what runs."""
        while True:
            new = self.recorder.listen(_POLL_S)
            for output in self._drained:
                output.drain()
            self._reap()
            family = processes.below(os.getpid())
            self._clock.look(family)
            now = self._clock.now_s
            self._note_calm(family, now, busy=new > 0)
            if self.recorder.servers() and not self._served_at:
                self._served_at, self._slept_before_s = now, self.recorder.notes.slept_s
            why = self._exceeded(family, now) or self._settled(family, now)
            if why:
                for output in self._drained:
                    output.drain()
                return why, self._status, frozenset(process.pid for process in family)

    def afterwards(self) -> str:
        """End the server and return standard error afterwards, where lines meant as options show as errors."""
        servers = {record.pid for record in self.recorder.servers()}
        if self._child in servers:
            return ""
        self._outputs[1].forget()
        for process in processes.below(os.getpid()):
            if process.pid in servers:
                processes.end(process.pid)
        until = time.monotonic() + _AFTERWARDS_S
        while time.monotonic() < until and self._status is None:
            self.recorder.listen(_POLL_S)
            self._reap()
        self._outputs[1].drain()
        return self._outputs[1].text()

    def slept_s(self) -> float:
        """How long the program meant to sleep, or to wait under a time limit that was made to pass."""
        return self.recorder.notes.slept_s + self.recorder.notes.timers.passed_s

    def _waits_for_long(self, pids: set[int], calm_s: float) -> bool:
        if self.slept_s() - self._slept_before_s >= self._job.patience_s:
            return True
        if calm_s <= _CALM_S:
            return False
        noted = {record.env.get(TIMER, "") for record in self.recorder.servers()}
        limited = {int(number) for number in noted if number.isdecimal() and len(number) < 10}
        self._calm_since = self._clock.now_s
        return not self.recorder.notes.timers.next_is_over(pids, limited)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self._child:
                    self._status, self._exited_at = (
                        os.waitstatus_to_exitcode(status),
                        self._clock.now_s,
                    )

    def _note_calm(self, family: tuple[processes.Process, ...], now: float, *, busy: bool) -> None:
        processes_now = sorted((process.pid, process.cpu_ticks) for process in family)
        notes = self.recorder.notes
        signature = (notes.slept_s, *processes_now)
        notes.forget_all_but({process.pid for process in family})
        running = any(p.state in "RD" or p.pid in notes.napping for p in family)
        if busy or running or signature != self._signature:
            self._signature, self._calm_since = signature, now

    def _exceeded(self, family: tuple[processes.Process, ...], elapsed_s: float) -> EndedBy | None:
        limits: Limits = self._job.limits
        exceeded = {
            EndedBy.PROCESSES: len(family) > limits.processes,
            EndedBy.MEMORY: sum(process.memory_bytes for process in family) > limits.memory_bytes,
            EndedBy.OUTPUT: sum(output.count for output in self._outputs) > limits.output_bytes,
            EndedBy.RECORDS: self.recorder.flooded,
            EndedBy.DISK: self._disk_is_full(family, elapsed_s),
            EndedBy.TIME: elapsed_s > limits.wall_s,
        }
        return next((limit for limit, is_exceeded in exceeded.items() if is_exceeded), None)

    def _disk_is_full(self, family: tuple[processes.Process, ...], elapsed_s: float) -> bool:
        if self._job.isolated:
            disk = os.statvfs(self._job.kit)
            return disk.f_bavail * 50 < disk.f_blocks or disk.f_ffree * 50 < disk.f_files
        if elapsed_s < self._measured_s + _DISK_S:
            return False
        self._measured_s = elapsed_s
        most = self._at_first_bytes + self._job.limits.disk_bytes
        return outside.used_bytes(self._job, family, most) > most

    def _settled(self, family: tuple[processes.Process, ...], now: float) -> EndedBy | None:
        calm_s = now - self._calm_since
        pids = {process.pid for process in family}
        if self._status is not None:
            gone_s = now - self._exited_at
            return EndedBy.EXIT if not family or calm_s > _CALM_S or gone_s > _ORPHANS_S else None
        servers = self.recorder.serving()
        # Wait for a second look: a process that just ended may have killed the other, which dies between two reads.
        if pids == {self._child} and self._child in servers and calm_s > 0:
            return EndedBy.SERVER
        if pids & servers:
            supervised_s = self.recorder.notes.slept_s - self._slept_before_s
            if not self._job.answers:
                return EndedBy.SERVER if self._waits_for_long(pids, calm_s) else None
            if (
                calm_s > _CALM_S
                or now - self._served_at > _SERVED_S
                or supervised_s > _SUPERVISED_S
            ):
                return EndedBy.SERVER
            return None
        return EndedBy.TIME if calm_s > _STUCK_S else None
