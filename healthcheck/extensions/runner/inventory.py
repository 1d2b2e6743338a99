"""The report's record of the machine, for later runs to compare with and for the page to draw."""

from __future__ import annotations

from healthcheck.core.records import JsonValue
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.snapshot import Snapshot
from healthcheck.extensions.runner.trial_records import Soak

MAX_DEVICES = 64


def inventory(facts: RunnerFacts) -> Snapshot:
    """The record of the machine in these facts."""
    return Snapshot(facts=_named(facts), counters=_counters(facts))


def soak(seen: Soak) -> dict[str, JsonValue]:
    """The course of a soak: [seconds, TFLOP/s] by device, [seconds, °C] by chip."""
    heat: dict[str, list[JsonValue]] = {}
    for reading in seen.readings:
        if reading.temperature_c is not None:
            place = f"NPU {reading.npu} chip {reading.chip}"
            heat.setdefault(place, []).append([reading.at_s, reading.temperature_c])
    speeds: dict[str, JsonValue] = {
        f"device {device}": [[at_s, round(speed, 3)] for at_s, speed in seen.speeds(device)]
        for device in range(min(seen.count, MAX_DEVICES))
    }
    return {
        "asked_s": seen.asked_s,
        "lasted_s": seen.lasted_s,
        "tflops": speeds,
        "celsius": dict(heat),
    }


def _named(facts: RunnerFacts) -> dict[str, str]:
    """Versions, devices and limits, without unknown values."""
    chips, table = facts.smi.chips, facts.smi.table
    atb = facts.cann.atb
    found = {
        "driver": facts.driver.version or (table.driver if table else ""),
        "npu-smi": table.tool if table else "",
        "CANN": facts.cann.version,
        "ATB": atb.version if atb else "",
        "Python": facts.software.python,
        "devices": f"{len(chips)} × {chips[0].name}" if chips else "",
        "device memory in MB": ", ".join(sorted({str(chip.total_mib) for chip in chips})),
        "host memory in bytes": _text(facts.host.memory.total_bytes),
        "memory limit in bytes": _text(facts.host.memory.limit_bytes),
        "processors": _text(len(facts.host.processors.allowed) or None),
        "shared memory in bytes": _text(facts.host.shm.total_bytes if facts.host.shm else None),
    }
    for name, version in facts.software.packages.items():
        found[f"package {name}"] = version
    for npu, board in facts.smi.boards.items():
        found[f"firmware of NPU {npu}"] = board.whole.get("Firmware Version", "")
    for device in facts.neighbours:
        found[f"links of {device.name}"] = " ".join(device.links)
    for port in facts.links.ports:
        found[f"link of device {port.device}"] = port.link
    return {name: value for name, value in found.items() if value}


def _counters(facts: RunnerFacts) -> dict[str, int]:
    return {
        f"{name} of NPU {ecc.npu} chip {ecc.chip}": count
        for ecc in facts.ecc_after or facts.ecc
        for name, count in ecc.counts.items()
    }


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
