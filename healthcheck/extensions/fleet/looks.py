"""Examines the machines of a fleet by the runner's checks, to decide which may take jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from healthcheck.core.records import JsonValue, Verdict
from healthcheck.extensions.fleet.launch import GRACE_S, Order
from healthcheck.extensions.fleet.machines import Machine, Machines
from healthcheck.extensions.fleet.page import said, verdict_words
from healthcheck.extensions.fleet.records import Attempt, Ending, Tone
from healthcheck.report import folder as report_folder
from healthcheck.report.words import duration
from healthcheck.system import json_text
from healthcheck.text.language import Translate, Translation
from healthcheck.text.messages import msg
from healthcheck.text.tables import aligned

FOLDER, JSON = "machines", "machines.json"
SCHEMA = 1
Tell = Callable[[str, str], object]
"""Called with the machine and the result of each examination."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How to examine machines: level and stack as in `runner`, the network, and a time limit for each."""

    level: int
    stack: str = ""
    limit_s: float
    own_network: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One examination of a machine, as an attempt whose job is the machine's name."""

    machine: Machine
    attempt: Attempt

    @property
    def takes_jobs(self) -> bool:
        """Whether the machine may take jobs: its report has at most unsettled findings."""
        report = self.attempt.report
        told = {self.attempt.verdict, report.verdict if report else Verdict.NOT_READY}
        return self.attempt.ending is Ending.DONE and Verdict.NOT_READY not in told

    @property
    def why(self) -> str:
        """Why the machine is not ready, or ""."""
        if self.attempt.verdict is Verdict.READY:
            return ""
        problems = self.attempt.report.problems if self.attempt.report else ()
        first = next(
            (each for each in problems if each.tone is Tone.FAIL), next(iter(problems), None)
        )
        return (
            msg("{check}: {said}", check=first.check, said=first.message)
            if first
            else said(self.attempt)
        )


def left_out(looks: Iterable[Look]) -> dict[str, str]:
    """The machines that take no jobs, by name, with the reason."""
    return {
        look.machine.name: msg("its runner: {why}", why=look.why)
        for look in looks
        if not look.takes_jobs
    }


def looked_at(machines: Machines, out: Path, terms: Terms, tell: Tell) -> tuple[Look, ...]:
    """Examine all machines at the same time; files go below `out`.

    A machine that does not answer in time is given up: other tasks may use its NPUs.
    """
    asked = {each.name: each for each in machines.machines()}
    for each in asked.values():
        machines.look(each, _order(each, terms), out / FOLDER / each.name)
    found: dict[str, Look] = {}

    def keep(attempt: Attempt) -> None:
        found[attempt.job] = Look(machine=asked[attempt.job], attempt=attempt)
        tell(attempt.job, verdict_words(attempt))

    end = time.monotonic() + terms.limit_s + 2 * GRACE_S
    while len(found) < len(asked):
        for event in machines.events():
            if isinstance(event, Attempt):
                keep(event)
        if time.monotonic() > end:
            for name in asked.keys() - found.keys():
                machines.give_up(name)
                keep(_silent(asked[name], terms))
    looks = tuple(found[name] for name in asked)
    machines_as_json = [_machine_as_json(look) for look in looks]
    report_folder.save(out / JSON, json_text.dump({"schema": SCHEMA, "machines": machines_as_json}))
    return looks


def table(looks: Iterable[Look], translation: Translation) -> list[str]:
    """A line per machine: whether it may take jobs, and why not."""
    return aligned(list(_rows(looks, translation.say)))


def _rows(looks: Iterable[Look], say: Translate) -> Iterator[tuple[str, ...]]:
    own = (msg("node"), "NPU", msg("kind of NPU"), msg("takes jobs"))
    yield tuple(map(say, (*own, msg("verdict"), msg("time"), msg("why"))))
    for look in looks:
        machine, attempt = look.machine, look.attempt
        npus = "" if machine.npus is None else str(machine.npus)
        takes = "✓" if look.takes_jobs else "✗"
        told = map(say, (verdict_words(attempt), duration(attempt.seconds), look.why))
        yield (machine.name, npus, machine.kind, takes, *told)


def _order(machine: Machine, terms: Terms) -> Order:
    count = (
        ()
        if machine.npus is None
        else (f"--npus={machine.npus}",)
        if machine.npus
        else ("--allow-none",)
    )
    stack = (f"--stack={terms.stack}",) if terms.stack else ()
    return Order(
        job=machine.name,
        digest="",
        number=1,
        packed=None,
        words=(*count, f"--level={terms.level}", *stack),
        folder="/",
        limit_s=terms.limit_s,
        own_network=terms.own_network,
    )


def _silent(machine: Machine, terms: Terms) -> Attempt:
    why = msg(
        "no answer within {duration}; other tasks of the cluster may have its NPUs",
        duration=duration(terms.limit_s),
    )
    return replace(_order(machine, terms).lost, node=machine.name, said=why)


def _machine_as_json(look: Look) -> JsonValue:
    return {
        "name": look.machine.name,
        "npus": look.machine.npus,
        "kind": look.machine.kind,
        "takes_jobs": look.takes_jobs,
        "verdict": look.attempt.verdict.value,
        "exit_status": int(look.attempt.exit_status),
        "seconds": look.attempt.seconds,
        "why": look.why,
        "report": f"{FOLDER}/{look.machine.name}/report" if look.attempt.report else "",
    }
