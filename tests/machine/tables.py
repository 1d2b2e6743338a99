"""Prints tables as npu-smi does, in its five layouts, with whatever chips a test wants."""

from __future__ import annotations

from dataclasses import dataclass

LAYOUTS = ("910B", "A3", "26", "310P", "950")


@dataclass(frozen=True, kw_only=True)
class Row:
    npu: int = 0
    chip: int = 0
    name: str = "910B3"
    health: str = "OK"
    used: int = 3400
    total: int = 65536


def info(layout: str, rows: list[Row], holders: list[tuple[int, int, int, str, int]] = ()) -> str:
    """The whole output of `npu-smi info`."""
    return "\n".join([*_head(layout), *_chips(layout, rows), *_holders(layout, rows, holders), ""])


def _widths(layout: str) -> tuple[int, ...]:
    return {
        "910B": (27, 15, 52), "A3": (27, 15, 52), "26": (27, 15, 70), "310P": (31, 17, 54), "950": (8, 18, 15, 70),
    }[layout]  # fmt: skip


def _border(layout: str, mark: str) -> str:
    return "+" + "+".join(mark * width for width in _widths(layout)) + "+"


def _boxed(layout: str, *cells: str) -> str:
    widths = _widths(layout)
    return (
        "|"
        + "|".join(
            f" {cell}".ljust(width)[:width] for cell, width in zip(cells, widths, strict=True)
        )
        + "|"
    )


def _head(layout: str) -> list[str]:
    whole = sum(_widths(layout)) + len(_widths(layout)) - 1
    version = {"26": "26.0.rc1", "950": "25.6.rc1.b169"}.get(layout, "25.5.1")
    second = {"910B": "Chip", "26": "Chip", "A3": "Chip  Phy-ID", "310P": "Chip    Device"}.get(
        layout, ""
    )
    memory = "AICore(%)   Memory-Usage(MB)" + ("" if layout == "310P" else "  HBM-Usage(MB)")
    names = ("NPU ID", "Name") if layout == "950" else ("NPU   Name",)
    below = ("", "") if layout == "950" else (second,)
    return [
        f"+{'-' * whole}+",
        f"| npu-smi {version}".ljust(40) + f"Version: {version}".ljust(whole - 39) + "|",
        _border(layout, "-"),
        _boxed(layout, *names, "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"),
        _boxed(
            layout,
            *below,
            "Bus-Id",
            memory.replace("AICore", "NPU Util") if layout == "950" else memory,
        ),
        _border(layout, "="),
    ]


def _chips(layout: str, rows: list[Row]) -> list[str]:
    lines = []
    for number, row in enumerate(rows):
        power = "NA" if layout == "310P" else "-" if layout == "A3" and row.chip else "93.1"
        pair = f"{row.used}/ {row.total}" if row.used > 9999 else f"{row.used} / {row.total}"
        figures = (
            f"0           {pair}" if layout == "310P" else f"0           0    / 0          {pair}"
        )
        ids = {"910B": f"{row.chip}", "26": f"{row.chip}"}.get(layout, f"{row.chip}     {number}")
        first = (str(row.npu), row.name) if layout == "950" else (f"{row.npu}     {row.name}",)
        second = ("", "") if layout == "950" else (ids,)
        bus = "NA" if layout == "950" else f"0000:{number:02X}:00.0"
        lines.append(
            _boxed(layout, *first, row.health, f"{power}        41                0    / 0")
        )
        lines.append(_boxed(layout, *second, bus, figures))
        lines.append(_border(layout, "="))
    return lines


def _holders(
    layout: str, rows: list[Row], holders: list[tuple[int, int, int, str, int]]
) -> list[str]:
    wide = layout in {"26", "950"}
    cells = [
        "NPU ID" if layout == "950" else "NPU     Chip",
        "Process id",
        "Process name",
        "Process memory(MB)",
    ]
    cells += ["Process id in container"] if wide else []
    lines = ["| " + " | ".join(cells) + " |"]
    for npu, chip, pid, name, memory in holders:
        place = str(npu) if layout == "950" else f"{npu}       {chip}"
        lines.append(
            "| "
            + " | ".join([place, str(pid), name, str(memory), *(["NA"] if wide else [])])
            + " |"
        )
    busy = {holder[0] for holder in holders}
    idle = dict.fromkeys(row.npu for row in rows if row.npu not in busy)
    return [*lines, *(f"| No running processes found in NPU {npu}".ljust(98) + "|" for npu in idle)]
