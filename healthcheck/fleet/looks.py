"""Looks at the machines of a fleet: the runner's checks on each, then pairs; which may take jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from healthcheck import json_text
from healthcheck.errors import ExitStatus
from healthcheck.fleet import pairs
from healthcheck.fleet.launch import GRACE_S, Network, Order
from healthcheck.fleet.machines import Machine, Machines
from healthcheck.fleet.outputs import as_json_of_pairs
from healthcheck.fleet.page import said, verdict_words
from healthcheck.fleet.pair_records import WORDS, Tried, speed
from healthcheck.fleet.records import Attempt, Ending, worst
from healthcheck.fleet.tables import aligned
from healthcheck.fleet.tones import Tone
from healthcheck.language import ENGLISH, Translate, Translation
from healthcheck.messages import msg
from healthcheck.records import JsonValue, Verdict
from healthcheck.report import folder as report_folder
from healthcheck.report.words import duration

FOLDER, JSON = "machines", "machines.json"
SCHEMA = 1
Tell = Callable[[str, str], object]
"""Hears of each look and of each pair: who, and what it came to."""
COMPUTES = 2
"""The level from which on devices compute, and machines are tried with each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How machines are looked at: level and stack as `runner` has them, the network, and seconds for each."""

    level: int
    stack: str = ""
    limit_s: float
    network: Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at a machine, as an attempt whose job is the name of the machine."""

    machine: Machine
    attempt: Attempt

    @property
    def takes_jobs(self) -> bool:
        """Whether the machine may take jobs: its report says no more than that something could not be settled."""
        report = self.attempt.report
        told = {self.attempt.verdict, report.verdict if report else Verdict.NOT_READY}
        return self.attempt.ending is Ending.DONE and Verdict.NOT_READY not in told

    @property
    def why(self) -> str:
        """Why it is not ready, "" if it is."""
        if self.attempt.verdict is Verdict.READY:
            return ""
        problems = self.attempt.report.problems if self.attempt.report else ()
        first = next((each for each in problems if each.tone is Tone.FAIL), next(iter(problems), None))
        return msg("{check}: {said}", first.check, first.message) if first else said(self.attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was seen of all machines: of each alone, and of pairs of those that passed."""

    looks: tuple[Look, ...]
    tried: Tried = field(default_factory=Tried)

    @property
    def left_out(self) -> Mapping[str, str]:
        """The machines that take no jobs, by name, with the reason."""
        alone = {
            look.machine.name: msg("its runner: {why}", look.why) for look in self.looks if not look.takes_jobs
        }
        return {**alone, **self.tried.at_fault}

    @property
    def exit_status(self) -> ExitStatus:
        """The worst of the verdicts."""
        return worst([*(look.attempt.exit_status for look in self.looks), self.tried.exit_status])


def looked_at(machines: Machines, out: Path, terms: Terms, tell: Tell) -> Looked:
    """Look at every machine, at all of them at a time, then try those that passed with each other.

    Files go below `out`.
    """
    looks = _each(machines, out, terms, tell)
    fit = [look.machine for look in looks if look.takes_jobs]
    found = Looked(looks=looks, tried=_tried(machines, fit, tell) if terms.level >= COMPUTES else Tried())
    report_folder.save(out / JSON, json_text.dump(_as_json(found)))
    return found


def _each(machines: Machines, out: Path, terms: Terms, tell: Tell) -> tuple[Look, ...]:
    """A machine that does not answer in time is given up: somebody else's tasks may have its NPUs."""
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
    return tuple(found[name] for name in asked)


def _tried(machines: Machines, fit: Sequence[Machine], tell: Tell) -> Tried:
    if len(fit) < 2:
        return Tried()
    room = machines.room([machine.name for machine in fit])
    try:
        npus = {machine.name: machine.npus or 0 for machine in fit}
        return pairs.tried(room, npus, lambda pair: tell(f"{pair.left} – {pair.right}", WORDS[pair.outcome]))
    finally:
        room.close()


def tables(found: Looked, translation: Translation = ENGLISH) -> list[str]:
    """A line a machine: whether it may take jobs, and why not; then a line a pair, and what the pairs say."""
    lines = aligned(list(_rows_of_machines(found, translation.say)))
    if found.tried.pairs:
        lines += ["", *aligned(list(_rows_of_pairs(found.tried, translation.say)))]
    remarks = [translation.say(remark.said) for remark in found.tried.remarks]
    return [*lines, *([""] if remarks else []), *remarks]


def _rows_of_machines(found: Looked, say: Translate) -> Iterator[tuple[str, ...]]:
    yield tuple(
        map(
            say,
            (msg("node"), "NPU", msg("kind of NPU"), msg("takes jobs"), msg("verdict"), msg("time"), msg("why")),
        )
    )
    for look in found.looks:
        machine, attempt = look.machine, look.attempt
        yield (
            machine.name,
            "" if machine.npus is None else str(machine.npus),
            machine.kind,
            "✗" if machine.name in found.left_out else "✓",
            say(verdict_words(attempt)),
            duration(attempt.seconds),
            say(found.tried.at_fault.get(machine.name, look.why)),
        )


def _rows_of_pairs(tried: Tried, say: Translate) -> Iterator[tuple[str, ...]]:
    yield tuple(
        map(
            say,
            (msg("pair of nodes"), msg("connected by"), msg("came to"), msg("all-reduce of 64 MiB"), msg("why")),
        )
    )
    for pair in tried.pairs:
        rate = speed(pair.bytes_per_s) if pair.bytes_per_s else ""
        yield (f"{pair.left} – {pair.right}", pair.over, say(WORDS[pair.outcome]), rate, say(pair.said))


def _order(machine: Machine, terms: Terms) -> Order:
    count = () if machine.npus is None else (f"--npus={machine.npus}",) if machine.npus else ("--allow-none",)
    stack = (f"--stack={terms.stack}",) if terms.stack else ()
    return Order(
        job=machine.name,
        digest="",
        number=1,
        packed=None,
        words=(*count, f"--level={terms.level}", *stack),
        folder="/",
        limit_s=terms.limit_s,
        network=terms.network,
    )


def _silent(machine: Machine, terms: Terms) -> Attempt:
    why = msg("no answer within {duration}; other tasks of the cluster may have its NPUs", duration(terms.limit_s))
    return Attempt(job=machine.name, digest="", number=1, ending=Ending.LOST, node=machine.name, said=why)


def _as_json(found: Looked) -> dict[str, JsonValue]:
    machines: list[JsonValue] = [_machine_as_json(look, found) for look in found.looks]
    return {"schema": SCHEMA, "machines": machines, **as_json_of_pairs(found.tried)}


def _machine_as_json(look: Look, found: Looked) -> dict[str, JsonValue]:
    name = look.machine.name
    return {
        "name": name,
        "npus": look.machine.npus,
        "kind": look.machine.kind,
        "takes_jobs": name not in found.left_out,
        "verdict": look.attempt.verdict.value,
        "exit_status": int(look.attempt.exit_status),
        "seconds": look.attempt.seconds,
        "why": found.tried.at_fault.get(name, look.why),
        "report": f"{FOLDER}/{name}/report" if look.attempt.report else "",
    }
