"""The NPUs of this machine, without torch: from `npu-smi info`, or from the device nodes if that fails."""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from adapter.chips import CHIPS, chips_meant
from adapter.settings import SettingsError

NPU_SMI_DEADLINE_S = 30
FIRST_ROW = re.compile(r"\|\s*\d+\s+\|?\s*(?P<name>\w[\w-]*)\s*\|[^|:]*\|")
BUS_ID = re.compile(r"\|\s*(?:[0-9A-Fa-f]{4}:[\w:.]+|NA)\s*\|")
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(rc\d+)?(?:\.post(\d+))?")


@dataclass(frozen=True)
class Machine:
    """`devices` chips or dies, as torch counts them; `chip` and `hbm_mib` (of one) are None if they are unknown.

    `release` is the installed vllm-ascend; "" if there is none, or if another machine is described.
    """

    devices: int
    chip: str | None
    hbm_mib: int | None
    source: str
    release: str = ""


def release_of(machine: Machine) -> tuple[int, int, int, int, int]:
    """The release in an order that can be compared; an unknown one counts as the oldest."""
    found = RELEASE.match(machine.release)
    if not found:
        return (0, 0, 0, 0, 0)
    return (
        int(found[1]),
        int(found[2]),
        int(found[3] or 0),
        0 if found[4] else 1,
        int(found[5] or 0),
    )


class System(Protocol):
    """The queries of a machine, so that a recorded machine can replace it."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables."""

    def npu_smi(self) -> str:
        """The output of `npu-smi info`; empty if it is missing or fails."""

    def device_nodes(self) -> int:
        """The number of /dev/davinci<number> nodes."""


@dataclass(frozen=True)
class LocalSystem:
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def npu_smi(self) -> str:
        try:
            done = subprocess.run(
                ["npu-smi", "info"], capture_output=True, timeout=NPU_SMI_DEADLINE_S, check=False,
                env={**self.environment, "LC_ALL": "C"},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""

    def device_nodes(self) -> int:
        try:
            return sum(
                re.fullmatch(r"davinci\d+", node.name) is not None
                for node in Path("/dev").iterdir()
            )
        except OSError:
            return 0


def find_machine(system: System) -> Machine:
    """The chips that npu-smi lists, at most one for each device node, and only the visible ones."""
    nodes = system.device_nodes()
    chips = _chips(system.npu_smi())
    if chips:
        devices = min(len(chips), nodes) if nodes else len(chips)
        name, hbm_mib = chips[0][0], min(hbm_mib for _, hbm_mib in chips)
        machine = Machine(devices, name, hbm_mib or None, "npu-smi info")
    elif nodes:
        machine = Machine(nodes, None, None, "/dev/davinci*")
    else:
        machine = Machine(0, None, None, "no npu-smi, no /dev/davinci*")
    return _only_visible(replace(machine, release=_release()), system.environment.get(VISIBLE))


def _release() -> str:
    try:
        return importlib.metadata.version("vllm-ascend")
    except importlib.metadata.PackageNotFoundError:
        return ""


def described_machine(chip_name: str, devices: int) -> Machine:
    """Describe another machine: `devices` devices of a chip, as torch counts them; the chip "none" means no NPU.

    A name of several chips of one family means the chip with the least memory.

    Raises:
        SettingsError: the chip is unknown or ambiguous, or the count is below one.
    """
    if devices < 1:
        raise SettingsError(
            f"--npus {devices}: expected at least 1; a machine without an NPU is --npu none"
        )
    if chip_name == "none":
        return Machine(0, None, None, "--npu none")
    chips = chips_meant(chip_name)
    if not chips:
        raise SettingsError(f"--npu {chip_name} is not known: expected none, {', '.join(CHIPS)}")
    if len({chip.family for chip in chips}) > 1:
        raise SettingsError(
            f"--npu {chip_name} may be {' or '.join(chip.name for chip in chips)}: name one"
        )
    least = f", the smallest of {', '.join(chip.name for chip in chips)}" if len(chips) > 1 else ""
    return Machine(devices, chips[0].name, chips[0].hbm_mib, f"--npu {chip_name}{least}")


def _chips(table: str) -> list[tuple[str, int]]:
    """Name and memory in MiB of each chip, in every layout of npu-smi.

    A chip is a pair of rows. The first has the NPU id and the name, in one cell or in two, then the health; the
    second has the bus id and one or two `used / total` pairs, of which the last is the HBM (the memory, on chips
    without HBM). npu-smi 24.1.0 also calls a 910A a 910B: it has 32 GB, and DDR beside the HBM, a 910B none.
    """
    rows = COLOUR.sub("", table).splitlines()
    chips = []
    for row, next_row in itertools.pairwise(rows):
        named = FIRST_ROW.match(row.strip())
        totals = [int(total) for total in re.findall(r"\d+\s*/\s*(\d+)", next_row)]
        if named and totals and BUS_ID.search(next_row):
            name = named.group("name")
            renamed = name == "910B" and totals[-1] == CHIPS["910A"].hbm_mib and any(totals[:-1])
            chips.append(("910A" if renamed else name, totals[-1]))
    return chips


def _only_visible(machine: Machine, visible: str | None) -> Machine:
    if not visible or not machine.devices:
        return machine
    shown = len([word for word in visible.split(",") if word.strip().isdigit()])
    if shown >= machine.devices:
        return machine
    return Machine(shown, machine.chip, machine.hbm_mib, f"{machine.source}, {VISIBLE}={visible}")
