"""Judges recorded machines, as they are or with something changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Report
from healthcheck.extensions.runner.examining import judge
from healthcheck.extensions.runner.records import Wanted
from healthcheck.extensions.runner.whole_machine import ReadSpeed, Space
from healthcheck.machine.interface import Output
from healthcheck.system import json_text
from healthcheck.system.processes import Listener
from tests.support.systems import AnsweringMachine, said

MACHINES = Path(__file__).parents[2] / "machine" / "machines"
NAMES = sorted(path.stem for path in MACHINES.glob("*.json"))
_PLAIN = {name: json.loads((MACHINES / f"{name}.json").read_text("utf-8")) for name in NAMES}
Machine = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RecordedMachine(AnsweringMachine):
    """A machine of tests/machine/machines, with its disks and ports."""

    spaces: Mapping[str, Any] = field(default_factory=dict)
    read_speeds: Mapping[str, Any] = field(default_factory=dict)
    ports: Mapping[str, Any] = field(default_factory=dict)

    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        """What the command prints; a list has an answer for each time that it is asked."""
        answer = self.commands.get(" ".join(command))
        return (
            said(answer.pop(0))
            if isinstance(answer, list)
            else super().run(*command, timeout_s=timeout_s)
        )

    def space(self, path: str) -> Space | None:
        return json_text.convert(self.spaces.get(path), Space | None)

    def read_speed(self, folder: str) -> ReadSpeed | None:
        return json_text.convert(self.read_speeds.get(folder), ReadSpeed | None)

    def port_holders(self, port: int) -> tuple[Listener, ...]:
        return json_text.convert(self.ports.get(str(port), []), tuple[Listener, ...])


def recorded(machine: Machine) -> RecordedMachine:
    asked = ("commands", "children", "files", "variables", "spaces", "read_speeds", "ports")
    return RecordedMachine(
        paths_found=machine["paths"], **{key: machine.get(key, {}) for key in asked}
    )


def plain(name: str) -> Machine:
    """A machine as JSON values, for a test to change."""
    return copy.deepcopy(_PLAIN[name])


def report(machine: Machine, **wanted: Any) -> Report:
    return judge(recorded(machine), Wanted(**wanted), Silent())


def results(machine: Machine, **wanted: Any) -> dict[str, CheckResult]:
    return {result.id: result for result in report(machine, **wanted).results}


def changed(
    name: str, change: Callable[[Machine], object], **wanted: Any
) -> dict[str, CheckResult]:
    """The results on a machine after a change."""
    machine = plain(name)
    change(machine)
    return results(machine, **wanted)


def seen(result: CheckResult) -> str:
    """What a result says that it saw, and what to do."""
    return (
        "\n".join(f"{finding.seen} → {finding.fix}" for finding in result.findings) + result.because
    )


def edit(machine: Machine, place: str, old: str, new: str) -> None:
    """Replace text in the lines at a place, such as "commands/npu-smi info/stdout"; it must be there."""
    *path, last = place.split("|")
    for key in path:
        machine = machine[key]
    assert any(old in line for line in machine[last])
    machine[last] = [line.replace(old, new) for line in machine[last]]
