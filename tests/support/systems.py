"""Machines that answer from recordings or from a test's tables: for the kit, and for the reference adapter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from healthcheck.machine.interface import Entry, Output
from healthcheck.system import json_text
from healthcheck.text.messages import msg

NOT_RECORDED = msg("not in the recording")
MACHINES = Path(__file__).parents[1] / "machine" / "machines"


@dataclass(frozen=True, kw_only=True)
class AnsweringMachine:
    """A machine that answers the kit's questions with JSON values; all others are unknown."""

    commands: Mapping[str, Any] = field(default_factory=dict)
    children: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    paths_found: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)

    def run(self, *command: str, timeout_s: float = 20.0) -> Output:
        del timeout_s
        return said(self.commands.get(" ".join(command)))

    def python(
        self, program: Path, *arguments: str, sourced: tuple[str, ...] = (), timeout_s: float = 20.0
    ) -> Output:
        del sourced, timeout_s
        return said(self.children.get(" ".join((program.stem, *arguments))))

    def read(self, path: str) -> str | None:
        lines = self.files.get(path)
        return None if lines is None else "\n".join(lines)

    def paths(self, pattern: str) -> tuple[Entry, ...]:
        return tuple(json_text.convert(entry, Entry) for entry in self.paths_found.get(pattern, ()))

    def variable(self, name: str) -> str | None:
        return self.variables.get(name)


def said(recorded: Mapping[str, Any] | None) -> Output:
    """An output whose texts are lists of lines."""
    if recorded is None:
        return Output(status=None, trouble=NOT_RECORDED)
    texts = {stream: "\n".join(recorded.get(stream, ())) for stream in ("stdout", "stderr")}
    return Output(status=recorded.get("status"), trouble=recorded.get("trouble", ""), **texts)


def recorded_machine(name: str) -> AnsweringMachine:
    """A machine of tests/machine/machines."""
    recorded = json.loads((MACHINES / f"{name}.json").read_text("utf-8"))
    asked = {key: recorded[key] for key in ("commands", "children", "files", "variables")}
    return AnsweringMachine(paths_found=recorded["paths"], **asked)


def npu_machine(
    files: Mapping[str, str] | None = None,
    folders: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> AnsweringMachine:
    """A machine with these files; `folders` maps a pattern to the one path that it finds."""
    return AnsweringMachine(
        files={path: text.splitlines() for path, text in (files or {}).items()},
        paths_found={pattern: [{"path": path}] for pattern, path in (folders or {}).items()},
        variables=dict(variables or {}),
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
