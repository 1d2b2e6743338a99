"""The facts that a reader needs to repeat a run: versions, machine, weights, server."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import platform
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from healthcheck import __version__, contract
from healthcheck.contract import Service
from healthcheck.core.records import JsonValue
from healthcheck.core.stages import Stage
from healthcheck.system import programs
from healthcheck.text.redact import redacted, without_secrets

if TYPE_CHECKING:  # the probe alone needs neither stage, and their imports take 0.1 s
    from healthcheck.stages.service.records import Launch
    from healthcheck.stages.weights.records import Weights

PROGRAM, PACKAGE = "npu-adapter", "healthcheck"
TAIL_LINES, MOST_CHARACTERS = 30, 400


class StageClock:
    """The time that each stage took; a stage ends where the next begins, and may resume."""

    def __init__(self) -> None:
        self._begun: list[tuple[Stage, float]] = []

    def begin(self, stage: Stage) -> None:
        self._begun.append((stage, time.monotonic()))

    def seconds(self) -> dict[str, JsonValue]:
        """Seconds by stage until now."""
        ends = [*(began for _, began in self._begun[1:]), time.monotonic()]
        spent: dict[Stage, float] = {}
        for (stage, began), end in zip(self._begun, ends, strict=True):
            spent[stage] = spent.get(stage, 0.0) + end - began
        return {stage.name: round(seconds, 3) for stage, seconds in spent.items()}


def kit() -> dict[str, JsonValue]:
    """The kit, the interpreter and the machine; no host name, no user."""
    return {
        "kit": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "npu_devices": len([*Path("/dev").glob("davinci[0-9]*")]),
        "command": list[JsonValue](redacted([PROGRAM, *sys.argv[1:]], without_secrets)),
        **_service(contract.service()),
        "at": dt.datetime.now(tz=dt.timezone.utc).isoformat(timespec="seconds"),
    }


def program() -> tuple[str, ...]:
    """The kit as it was started, for a shell in the same directory: a name, a path, or Python with a module."""
    path = Path(sys.argv[0])
    if path.name == "__main__.py" and path.parent.name == PACKAGE:
        return (*sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1],)
    found = programs.find(PROGRAM)
    if path.name != PROGRAM or (found and os.path.realpath(found) == os.path.realpath(path)):
        return (PROGRAM,)
    return (str(path),)


def _service(judging: Service) -> dict[str, JsonValue]:
    """The profile that judges, if it is not the public page's."""
    if not judging.file:
        return {}
    return {"service": {"name": judging.name, "file": judging.file, "sha256": judging.sha256}}


def fingerprint(weights: Weights) -> str:
    """A digest of file names, file sizes and tensor headers; tensors are not read."""
    files: Iterable[object] = sorted((entry.name, entry.size_bytes) for entry in weights.files)
    headers: Iterable[object] = sorted(
        (shard.entry.name, repr(shard.header)) for shard in weights.shards
    )
    return hashlib.sha256(repr((files, headers)).encode("utf-8", "surrogateescape")).hexdigest()[
        :32
    ]


def launch(seen: Launch) -> dict[str, JsonValue]:
    """The launch with its timeline, in seconds from the start of deploy.sh."""
    return {
        "command": list(seen.command),
        "outcome": seen.outcome.value,
        "ready_s": seen.ready_s,
        "seconds": round(seen.seconds, 3),
        "model": seen.model,
        "phases": [{"name": phase.name, "at_s": round(phase.at_s, 3)} for phase in seen.phases],
        "log": seen.log.name,
        "log_tail": list[JsonValue](line[:MOST_CHARACTERS] for line in seen.log_tail[-TAIL_LINES:]),
    }
