"""Judges recorded machines, as they are or with something changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Report
from healthcheck.extensions.runner.examining import judge
from healthcheck.extensions.runner.recording import RecordedMachine, Recording
from healthcheck.extensions.runner.records import Wanted
from healthcheck.system import json_text

MACHINES = Path(__file__).parents[2] / "machine" / "machines"
NAMES = sorted(path.stem for path in MACHINES.glob("*.json"))
_PLAIN = {name: json.loads((MACHINES / f"{name}.json").read_text("utf-8")) for name in NAMES}
Machine = dict[str, Any]


def plain(name: str) -> Machine:
    """A machine as JSON values, for a test to change."""
    return copy.deepcopy(_PLAIN[name])


def report(machine: Machine, **wanted: Any) -> Report:
    recording = json_text.load_as(json.dumps(machine), Recording)
    return judge(RecordedMachine(recording), Wanted(**wanted), Silent())


def results(machine: Machine, **wanted: Any) -> dict[str, CheckResult]:
    return {result.id: result for result in report(machine, **wanted).results}


def changed(name: str, change: Callable[[Machine], object], **wanted: Any) -> dict[str, CheckResult]:
    """The results on a machine after a change."""
    machine = plain(name)
    change(machine)
    return results(machine, **wanted)


def seen(result: CheckResult) -> str:
    """What a result says that it saw, and what to do."""
    return "\n".join(f"{finding.seen} → {finding.fix}" for finding in result.findings) + result.because


def edit(machine: Machine, place: str, old: str, new: str) -> None:
    """Replace text in the lines at a place, such as "commands/npu-smi info/stdout"; it must be there."""
    *path, last = place.split("|")
    for key in path:
        machine = machine[key]
    assert any(old in line for line in machine[last])
    machine[last] = [line.replace(old, new) for line in machine[last]]
