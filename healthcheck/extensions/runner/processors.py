"""The processors of the machine: those that this process may use, and those near each device.

`npu-smi info -t topo` has one line per device in the order in which processes count them, with the links to the
other devices and, in the last column, the processors near it. vllm-ascend parses the same output
(vllm_ascend/cpu_binding.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from healthcheck.machine.interface import Machine
from healthcheck.machine.npu_smi import MAX_CHIPS, value_after, whole

MAX_PROCESSORS = 65536
_DEVICE = re.compile(r"(?:NPU|Phy-ID)\d{1,6}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """The processors for this process.

    Attributes:
        allowed: those that it may use; empty if unknown.
        architecture: the instruction set by uname ("aarch64").
    """

    allowed: frozenset[int] = frozenset()
    architecture: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """A device, its links to the devices in order ("X" is itself), and the processors near it."""

    name: str
    links: tuple[str, ...]
    processors: frozenset[int]


def processors(machine: Machine) -> Processors:
    """The processors that this process may use."""
    status = machine.read("/proc/self/status") or ""
    return Processors(
        allowed=numbers(value_after(status, "Cpus_allowed_list:")),
        architecture=machine.run("uname", "-m").stdout.strip()[:40],
    )


def numbers(text: str) -> frozenset[int]:
    """The numbers of a list of ranges, such as "0-23,48-71"; empty for any other text."""
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        first, last = whole(low), whole(high or low)
        if first is None or last is None or not first <= last < MAX_PROCESSORS:
            return frozenset()
        found.update(range(first, last + 1))
    return frozenset(found)


def neighbours(text: str) -> tuple[Neighbours, ...]:
    """The devices of `npu-smi info -t topo`; () for any other text."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    head = next((words for words in lines if words[-1] == "Affinity" and len(words) > 2), None)
    if head is None:
        return ()
    count = len(head) - 2  # "CPU Affinity" is two words
    rows = [words for words in lines if words is not head and _is_row(words, count)]
    return tuple(
        Neighbours(
            name=words[0],
            links=tuple(words[1 : count + 1]),
            processors=numbers("".join(words[count + 1 :])),
        )
        for words in rows[:MAX_CHIPS]
    )


def _is_row(words: list[str], devices: int) -> bool:
    """Whether these are a device, its links, and the processors near it, which may be missing."""
    return len(words) in {devices + 1, devices + 2} and bool(_DEVICE.match(words[0]))
