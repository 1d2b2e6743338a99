"""Parses what the kit's programs in a machine's Python print: one JSON object per step, among lines of libraries.

A step becomes a record by its field names; steps of another shape are skipped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from healthcheck.core.records import JsonValue
from healthcheck.machine.interface import Output
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError

MARK = "@npu-adapter "
Step = dict[str, JsonValue]
Shape = TypeVar("Shape")


def parse(output: Output) -> tuple[Step, ...]:
    """The steps in order; skips other lines and truncated ones."""
    return tuple(_steps(output.stdout))


def _steps(text: str) -> Iterator[Step]:
    for line in text.splitlines():
        for part in line.split(MARK)[1:]:
            with contextlib.suppress(JsonError):
                step = json_text.load(part)
                if isinstance(step, dict) and not has_number_beyond_64_bits(step):
                    yield step


def has_number_beyond_64_bits(value: JsonValue) -> bool:
    """Whether it contains a number that no counter of a machine reaches."""
    if isinstance(value, dict):
        return any(map(has_number_beyond_64_bits, value.values()))
    if isinstance(value, list):
        return any(map(has_number_beyond_64_bits, value))
    return isinstance(value, int | float) and abs(value) >= 2**63


def named(said: Iterable[Step], name: str, shape: type[Shape]) -> tuple[Shape, ...]:
    """The steps of this name and shape."""
    found = (record(step, shape) for step in said if step.get("step") == name)
    return tuple(each for each in found if each is not None)


def record(step: Step, shape: type[Shape]) -> Shape | None:
    """The step as a record, None if it has another shape."""
    try:
        return json_text.convert(step, shape)
    except ValueError:
        return None


def last_line(output: Output) -> str:
    """The last non-empty line: in a traceback, the one with the cause."""
    lines = [
        line.strip()
        for text in (output.stdout, output.stderr)
        for line in text.splitlines()
        if line.strip()
    ]
    return lines[-1][:300] if lines else ""
