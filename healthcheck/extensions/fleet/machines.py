"""The machines that run attempts: this one, or a cluster (`on_ray`)."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from healthcheck.errors import UsageError
from healthcheck.extensions.fleet.launch import Order, launch
from healthcheck.extensions.fleet.records import Attempt, Ending, Job
from healthcheck.text.messages import msg


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A progress event: the current stage of a job, "" before the first."""

    job: str
    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine: its name, valid as a folder name, its NPUs (None: unknown), and their kind, "" if unknown."""

    name: str
    npus: int | None
    kind: str = ""


class Machines(Protocol):
    def machines(self) -> Sequence[Machine]:
        """All machines."""

    def look(self, machine: Machine, order: Order, place: Path) -> None:
        """Start to examine a machine; its files go to the folder `place`. The result is an attempt."""

    def give_up(self, name: str) -> None:
        """Stop waiting for the examination of this machine."""

    def leave_out(self, names: Collection[str]) -> None:
        """Exclude these machines from jobs."""

    def refusal(self, job: Job) -> str:
        """Why no machine can ever take the job, or ""."""

    def has_room(self, job: Job, avoid: Collection[str]) -> bool:
        """Whether an attempt at the job would start now; nodes of `avoid` only if no other can ever take it."""

    def start(self, job: Job, order: Order, place: Path, avoid: Collection[str]) -> None:
        """Start an attempt; its files go to the folder `place`."""

    def events(self) -> Iterator[Running | Attempt]:
        """The events since the last call, after a short wait."""

    def close(self) -> None:
        """End every launch, and wait for the end. Files that `verify` has written are kept."""


class ThisMachine:
    """One attempt at a time, with the kit alone."""

    def __init__(self) -> None:
        self._current: tuple[Order, Iterator[str | Attempt]] | None = None
        self._left_out = False

    def machines(self) -> Sequence[Machine]:
        return (Machine(name=socket.gethostname(), npus=None),)

    def look(self, machine: Machine, order: Order, place: Path) -> None:
        del machine
        self._current = (order, launch(order, place))

    def give_up(self, name: str) -> None:
        del name
        self.close()

    def leave_out(self, names: Collection[str]) -> None:
        self._left_out = bool(names)

    def refusal(self, job: Job) -> str:
        """This machine takes every job that `verify` takes here, unless it is excluded."""
        del job
        return msg("this machine takes no jobs: its runner fails") if self._left_out else ""

    def has_room(self, job: Job, avoid: Collection[str]) -> bool:
        del job, avoid
        return self._current is None

    def start(self, job: Job, order: Order, place: Path, avoid: Collection[str]) -> None:
        del job, avoid
        self._current = (order, launch(order, place))

    def events(self) -> Iterator[Running | Attempt]:
        if self._current is None:
            return
        order, running = self._current
        try:
            said = next(running)
        except UsageError as error:
            said = replace(order.lost, ending=Ending.NO_REPOSITORY, said=str(error))
        if isinstance(said, Attempt):
            self._current = None
            yield said
        else:
            yield Running(job=order.job, stage=said)

    def close(self) -> None:
        if self._current is not None:
            _, running = self._current
            self._current = None
            running.close()  # type: ignore[attr-defined]


def npus_in_words(count: int, kind: str) -> str:
    """The requested NPUs in words; 0 is any number, "" any kind."""
    named = f" {kind}" if kind else ""
    return f"{count} NPU{named}" if count else msg("an NPU{kind}", kind=named)
