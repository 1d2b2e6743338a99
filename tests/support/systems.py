"""Machines that answer from a test's tables: for the kit's runner, and for the reference adapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.runner.machine import Entry
from healthcheck.runner.recording import RecordedMachine, Recording


def npu_machine(
    files: Mapping[str, str] | None = None,
    folders: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> RecordedMachine:
    """A machine of the runner with these files; `folders` maps a pattern to the one path that it finds."""
    return RecordedMachine(
        Recording(
            files={path: tuple(text.splitlines()) for path, text in (files or {}).items()},
            paths={pattern: (Entry(path=path),) for pattern, path in (folders or {}).items()},
            variables=dict(variables or {}),
        )
    )


@dataclass(frozen=True)
class RecordedSystem:
    """The answers of a machine to the reference adapter."""

    table: str = ""
    nodes: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)

    def npu_smi(self) -> str:
        return self.table

    def device_nodes(self) -> int:
        return self.nodes
