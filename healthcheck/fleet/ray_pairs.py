"""Programs on two nodes of a cluster of Ray that meet: each node has an actor, which holds one of its NPUs."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError

from healthcheck import processes
from healthcheck.fleet.pairs import LIMIT_S, Meeting
from healthcheck.fleet.readback import short
from healthcheck.messages import msg
from healthcheck.runner import installed, probes
from healthcheck.runner.machine import OUTPUT_BYTES, Child, Output
from healthcheck.runner.real import RealMachine
from healthcheck.runner.records import Software

GATHER_S = 180.0
"""For a node to give an NPU: somebody else's tasks may have them all."""
PATIENCE_S = 60.0
"""Beyond the limit of a program, for its worker to say what it came to."""
GRACE_S = 5.0
"""For the other program to end, when one has failed; it would wait for it until its own limit."""
STOPPED = msg("ended, as the other side had failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A node that takes part: its address, and the options that place an actor on it."""

    address: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One of the two programs of a meeting."""

    meeting: Meeting
    rank: int

    @property
    def name(self) -> str:
        """The node that it runs on."""
        return (self.meeting.left, self.meeting.right)[self.rank]


class RayRoom:
    """An actor on each node; those that do not answer in time take no part."""

    def __init__(self, seats: Mapping[str, Seat]) -> None:
        self._addresses = {name: seat.address for name, seat in seats.items()}
        self._actors = {name: _SIDE.options(**seat.options).remote() for name, seat in seats.items()}
        asked = {name: actor.software.remote() for name, actor in self._actors.items()}
        if asked:
            ray.wait(list(asked.values()), num_returns=len(asked), timeout=GATHER_S)
        self.packages: Mapping[str, Software] = {name: _software(ref) for name, ref in asked.items()}

    def meet(self, meetings: Sequence[Meeting]) -> Mapping[Meeting, tuple[Output, Output]]:
        """Hold these meetings, all at a time; no node is in two of them."""
        ports = {meeting: self._actors[meeting.left].free_port.remote() for meeting in meetings}
        running: dict[Any, _Run] = {}
        ended: dict[_Run, Output] = {}
        for meeting in meetings:
            for rank, name in enumerate((meeting.left, meeting.right)):
                host, own = self._addresses[meeting.left], self._addresses[name]
                ref = self._actors[name].run.remote(meeting.over, rank, host, ports[meeting], own)
                running[ref] = _Run(meeting=meeting, rank=rank)
        self._wait(running, ended)
        return {
            meeting: (ended[_Run(meeting=meeting, rank=0)], ended[_Run(meeting=meeting, rank=1)])
            for meeting in meetings
        }

    def close(self) -> None:
        """Give the NPUs back; the programs die with their workers."""
        for actor in self._actors.values():
            ray.kill(actor)

    def _wait(self, running: dict[Any, _Run], ended: dict[_Run, Output]) -> None:
        """Move each run to `ended` with its output; when one has failed, the other of its meeting is ended."""
        end = time.monotonic() + LIMIT_S + PATIENCE_S
        to_stop: dict[_Run, float] = {}
        while running and time.monotonic() < end:
            for ref in ray.wait(list(running), timeout=0.5)[0]:
                run = running.pop(ref)
                ended[run] = _output(ref, stopped=run in to_stop and to_stop[run] == 0.0)
                if ended[run].status != 0:
                    to_stop.setdefault(_Run(meeting=run.meeting, rank=1 - run.rank), time.monotonic() + GRACE_S)
            for run, at in to_stop.items():
                if at and at < time.monotonic() and run in running.values():
                    to_stop[run] = 0.0
                    self._actors[run.name].stop.remote()
        for run in running.values():
            ended[run] = Output(status=None, trouble=msg("no answer within {limit_s:g} s", LIMIT_S + PATIENCE_S))


def _software(ref: Any) -> Software:
    try:
        said = ray.get(ref, timeout=0)
    except RayError as error:
        busy = msg("no answer within {gather_s:g} s; other tasks of the cluster may have its NPUs", GATHER_S)
        late = isinstance(error, ray.exceptions.GetTimeoutError)
        return Software(trouble=busy if late else short(f"{type(error).__name__}: {error}"), packages={})
    return (
        said if isinstance(said, Software) else Software(trouble=msg("the node sent something else"), packages={})
    )


def _output(ref: Any, *, stopped: bool) -> Output:
    """What a program printed, within bounds."""
    try:
        said = ray.get(ref, timeout=PATIENCE_S)
    except RayError as error:
        return Output(status=None, trouble=short(f"{type(error).__name__}: {error}"))
    if not isinstance(said, Output):
        return Output(status=None, trouble=msg("the node sent something else than an output"))
    status = said.status if isinstance(said.status, int) and not stopped else None
    text = {"stdout": said.stdout[:OUTPUT_BYTES], "stderr": said.stderr[:OUTPUT_BYTES]}
    return Output(status=status, trouble=STOPPED if stopped else said.trouble, **text)


class _Side:
    """On a node; it runs in threads, so that `stop` reaches it while a program runs."""

    def software(self) -> Software:
        """What the Python that would serve has."""
        return probes.software(RealMachine().python(Child.VERSIONS))

    def free_port(self) -> int:
        """A port on which the program of rank 0 may listen."""
        with socket.socket() as free:
            free.bind(("", 0))
            port: int = free.getsockname()[1]
        return port

    def run(self, over: str, rank: int, host: str, port: int, own: str) -> Output:
        """Run the program with CANN's environment; it ends itself at its limit, and with this process."""
        machine = RealMachine()
        words = (over, str(rank), host, str(port), own, str(LIMIT_S))
        scripts = installed.cann(machine).scripts
        return machine.python(Child.NODES, *words, sourced=scripts, timeout_s=LIMIT_S + GRACE_S)

    def stop(self) -> None:
        """End the program."""
        processes.kill(processes.descendants(os.getpid()))


_SIDE = ray.remote(num_cpus=0, max_concurrency=2)(_Side)
