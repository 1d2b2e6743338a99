"""Versions and devices of the machine of a server, to compare two runs. Missing ones are "unknown"."""

from __future__ import annotations

from collections import Counter

from healthcheck.core.records import JsonValue
from healthcheck.machine import installed
from healthcheck.machine.devices import table_here
from healthcheck.machine.interface import Machine

PACKAGES = ("vllm", "vllm_ascend", "torch", "torch_npu", "transformers")
UNKNOWN = "unknown"


def versions(machine: Machine) -> dict[str, JsonValue]:
    """The installed versions on the machine of the server, and its devices."""
    software = installed.software(machine)
    found: dict[str, JsonValue] = {
        name: software.packages.get(name) or UNKNOWN for name in PACKAGES
    }
    found["python"] = software.python or UNKNOWN
    found["cann"] = installed.cann(machine).version or UNKNOWN
    found["driver"] = installed.driver(machine).version or UNKNOWN
    found["devices"] = _devices(machine)
    return found


def _devices(machine: Machine) -> str:
    table = table_here(machine)
    counted = Counter(chip.kind for chip in table.chips) if table else {}
    return ", ".join(f"{number} × {kind}" for kind, number in counted.items()) or UNKNOWN
