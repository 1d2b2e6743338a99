"""Stub for npu-smi: shows the devices of the dry run in npu-smi's layout for their kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan.dry_run.stubs import image, note

_VERSION = "25.5.1"
_TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npu_smi_tables")
"""Parts of each layout: the head, the rows of a device, the border between devices of a card, the border between
cards, the head of the processes, and the line of a card without processes."""
_USED_PERCENT = 5
"""Approximate share of an idle device's memory that the driver and CANN use."""


class _Device(NamedTuple):
    npu: int
    chip: int
    number: int
    last: bool
    """The device is the last one of its card."""


def run(arguments: list[str]) -> Iterator[str]:
    """The lines that npu-smi prints."""
    shown = image.devices()
    if arguments[:1] in (["-v"], ["--version"]):
        yield f"npu-smi version: {_VERSION}"
        return
    count, per_card = int(shown["count"]), int(shown["per_card"])
    devices = [
        _Device(npu, chip, number, chip == per_card - 1 or number == count - 1)
        for number in range(count)
        for npu, chip in [divmod(number, per_card)]
    ]
    topic = _value(arguments, "-t")
    if "-l" in arguments:
        yield from _list(devices)
    elif "-m" in arguments:
        yield from _mapping(shown, devices)
    elif topic in _TOPICS:
        asked = [each for each in devices if _is_asked(each, arguments)]
        yield from _answer(topic, shown, asked) if asked else ("Error parameter of -i",)
    else:
        yield from _table(shown, devices)


def _value(arguments: list[str], option: str) -> str:
    at = arguments.index(option) + 1 if option in arguments else len(arguments)
    return arguments[at] if at < len(arguments) else ""


def _is_asked(device: _Device, arguments: list[str]) -> bool:
    npu, chip = _value(arguments, "-i"), _value(arguments, "-c")
    return (not npu or npu == str(device.npu)) and (not chip or chip == str(device.chip))


def _list(devices: list[_Device]) -> Iterator[str]:
    yield f"        Total Count                    : {sum(each.last for each in devices)}"
    for each in devices:
        if each.last:
            yield from ("", f"        NPU ID                         : {each.npu}")
            yield f"        Chip Count                     : {each.chip + 1}"


def _mapping(shown: dict[str, Any], devices: list[_Device]) -> Iterator[str]:
    kind = f"Ascend {shown['name'].removeprefix('Ascend')}"
    columns = [
        "NPU ID",
        "Chip ID",
        "Chip Logic ID",
        *(["Chip Phy-ID"] if shown["table"] == "dies" else []),
    ]
    yield "".join(f"{column:<31}" for column in columns) + "Chip Name"
    for each in devices:
        numbers = (each.npu, each.chip, *[each.number] * (len(columns) - 2))
        yield "".join(f"{number:<31}" for number in numbers) + kind
        if each.last:
            mcu = (each.npu, each.chip + 1, *["-"] * (len(columns) - 2))
            yield "".join(f"{word:<31}" for word in mcu) + "Mcu"


def _table(shown: dict[str, Any], devices: list[_Device]) -> Iterator[str]:
    with open(f"{_TABLES}/{shown['table']}.txt", encoding="ascii") as file:
        head, rows, thin, thick, processes, idle = file.read().rstrip("\n").split("\n\n")
    yield head.format(version=_VERSION)
    total = int(shown["memory_mib"])
    for each in devices:
        yield rows.format(
            name=shown["name"],
            power="-" if each.chip else 92.4,
            bus=f"0000:{(0xC1 + each.number) % 256:02X}:00.0",
            used=total * _USED_PERCENT // 100,
            total=total,
            **each._asdict(),
        )
        yield thick if each.last else thin
    yield processes
    yield from (idle.format(npu=each.npu) for each in devices if each.last)


def _answer(topic: str, shown: dict[str, Any], devices: list[_Device]) -> Iterator[str]:
    """`info -t`: the lines of the card, then those of each chip."""
    yield _line("NPU ID", devices[0].npu)
    yield _line("Chip Count", len(devices))
    for each in devices:
        yield ""
        yield _line("Chip ID", each.chip)
        yield from (_line(name, value) for name, value in _TOPICS[topic](shown).items())


def _line(name: str, value: object) -> str:
    return f"        {name:<30} : {value}"


def _memory(shown: dict[str, Any]) -> str:
    return "DDR" if shown["table"] == "no-hbm" else "HBM"


def _chip_name(shown: dict[str, Any]) -> dict[str, str]:
    """The fields with the chip's name; a chip with dies has a separate name for the NPU."""
    if shown["table"] == "dies":
        return {"Chip Name": shown["name"], "NPU Name": shown["soc"].rpartition("_")[2]}
    return {"Chip Type": "Ascend", "Chip Name": shown["name"].removeprefix("Ascend")}


_TOPICS: dict[str, Callable[[dict[str, Any]], dict[str, object]]] = {
    "board": lambda shown: {
        "Software Version": _VERSION,
        "Compatibility": "OK",
        **_chip_name(shown),
    },
    "common": lambda shown: {
        f"{_memory(shown)} Usage Rate(%)": _USED_PERCENT,
        "Aicore Usage Rate(%)": 0,
    },
    "health": lambda _: {"Health": "OK"},
    "memory": lambda shown: {f"{_memory(shown)} Capacity(MB)": shown["memory_mib"]},
    "usages": lambda shown: {
        f"{_memory(shown)} Capacity(MB)": shown["memory_mib"],
        f"{_memory(shown)} Usage Rate(%)": _USED_PERCENT,
        "Aicore Usage Rate(%)": 0,
    },
}
"""The fields of a chip in each topic of `info -t`."""


if __name__ == "__main__":
    note.record("exec", os.path.basename(sys.argv[2]), *sys.argv[3:])
    for line in run(sys.argv[3:]):
        print(line)
