"""Finds the Python environment with the real vLLM and vllm-ascend."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from healthcheck.ascend import stacks
from healthcheck.ascend.stacks import Row
from healthcheck.extensions.deep import child
from healthcheck.system import json_text, programs
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import joined, msg

OPTION = "--engine-python"
VARIABLE = "NPU_ADAPTER_ENGINE_PYTHON"
FOLDER = ".venv-engine-config"
CLONE = Path(__file__).resolve().parents[3]
_NAMED = (FOLDER, OPTION, VARIABLE)
MAKE = msg("`make engine-config` in a clone of the kit, and name its {folder} with {option} or {variable}", *_NAMED)
VERSIONS_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python, and the source of its path."""

    path: str
    named_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A Python environment: versions by distribution name, "" for missing packages; `trouble` if unknown."""

    python: Interpreter
    versions: Mapping[str, str] = field(default_factory=dict)
    trouble: str = ""

    def label(self) -> str:
        """The versions of the two packages, in words."""
        versions = ((name, self.versions.get(name) or "(none)") for name in ("vllm", "vllm-ascend"))
        return joined(", ", (msg("{name} {get}", *each) for each in versions))

    def differs(self, row: Row) -> bool:
        """Whether its vLLM or its vllm-ascend differs from the row's."""
        vllm, ascend = self.versions.get("vllm", ""), self.versions.get("vllm-ascend", "")
        same_vllm = any(stacks.same_release(vllm, release) for release in row.vllm)
        return not (same_vllm and stacks.same_release(ascend, row.vllm_ascend))

    def has_transformers_of(self, row: Row) -> bool:
        """Whether its transformers is in the range of the row's vllm-ascend."""
        return stacks.in_range(self.versions.get("transformers", ""), row.requires.get("transformers", ""))


def find_python(named: str = "", clone: Path = CLONE) -> Interpreter | None:
    """The named Python, else that of `make engine-config`, else this one if it has both packages.

    Raises:
        UsageError: the option or the variable names no Python.
    """
    for place, source in ((named, OPTION), (os.environ.get(VARIABLE, ""), VARIABLE)):
        if place:
            return Interpreter(path=str(programs.python_at(place, source)), named_by=source)
    made = clone / FOLDER / "bin" / "python"
    if (clone / FOLDER / "ready").exists() and os.access(made, os.X_OK):
        return Interpreter(path=str(made), named_by=FOLDER)
    if all(any(metadata.distributions(name=name)) for name in ("vllm", "vllm-ascend")):
        return Interpreter(path=sys.executable, named_by=msg("the running Python"))
    return None


def look(python: Interpreter) -> Environment:
    """List the versions in the environment, without importing any package."""
    told = child.run(python.path, "list_versions.py", None, {}, VERSIONS_S)
    try:
        versions = json_text.load_as(told.answer, dict[str, str])
    except JsonError:
        return Environment(python=python, trouble=told.trouble or msg("it does not say what it has"))
    return Environment(python=python, versions=versions)
