"""Parses `npu-smi info -t topo`: the links between devices, and the processors near each device.

One line per device, in the order of processes' numbering, with the processors in the last column. vllm-ascend
parses the same output (vllm_ascend/cpu_binding.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from healthcheck.extensions.runner.surroundings import numbers
from healthcheck.machine.npu_smi import MAX_CHIPS

_NAME = re.compile(r"(?:NPU|Phy-ID)\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """A device in the table: its links to the devices in order ("X" is itself), and the processors near it."""

    name: str
    links: tuple[str, ...]
    processors: frozenset[int]


def parse(text: str) -> tuple[Neighbours, ...]:
    """The devices; () for other text."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    head = next((words for words in lines if words[-1] == "Affinity" and len(words) > 2), None)
    if head is None:
        return ()
    count = len(head) - 2
    rows = [words for words in lines if len(words) in {count + 1, count + 2} and _NAME.match(words[0])]
    return tuple(
        Neighbours(
            name=words[0], links=tuple(words[1 : count + 1]), processors=numbers("".join(words[count + 1 :]))
        )
        for words in rows[:MAX_CHIPS]
        if words is not head
    )
