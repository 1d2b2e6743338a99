"""The facts about a machine, gathered once. None and empty texts are unknown values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from healthcheck.ascend.hardware import Npu, find
from healthcheck.ascend.stacks import Row
from healthcheck.core.check import fail, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.ecc import Ecc
from healthcheck.extensions.runner.host_memory import HostMemory
from healthcheck.extensions.runner.links import Links
from healthcheck.extensions.runner.npu_smi_queries import Fields, Mapped
from healthcheck.extensions.runner.processors import Neighbours, Processors
from healthcheck.extensions.runner.snapshot import Snapshot
from healthcheck.extensions.runner.trial_records import Hccl, Operators, Pairs, Soak, Torch
from healthcheck.extensions.runner.whole_machine import ReadSpeed, Space
from healthcheck.machine.installed import Cann, Driver, Software
from healthcheck.machine.interface import Entry, Output
from healthcheck.machine.npu_smi import Chip, Holder, Table
from healthcheck.system.processes import Listener

Device = TypeVar("Device")
_HELD_BY_ANOTHER = -8020
MOUNTS = (
    "/usr/local/dcmi",
    "/usr/local/Ascend/driver/lib64/",
    "/usr/local/Ascend/driver/version.info",
    "/etc/ascend_install.info",
)
"""The mounts of the documented `docker run` besides devices and npu-smi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The expectations of the machine.

    Attributes:
        npus: the number of devices, None for "all that exist, at least one".
        allow_none: whether a machine without devices is acceptable.
        stack: the vllm-ascend release whose row is compared with, "" for the nearest.
        soak_s: how long all devices compute at the deepest level.
        earlier: the record of an earlier run.
        replay: whether a recording answers instead of a machine, so that no device can be tried.
    """

    npus: int | None = None
    allow_none: bool = False
    stack: str = ""
    depth: Depth = Depth.MINUTES
    soak_s: float = 1200.0
    earlier: Snapshot | None = None
    replay: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Smi:
    """npu-smi and its output.

    Attributes:
        command: how it was called.
        table: None if it printed none; `complaint` is its message instead.
        codes: the error codes in its output, whatever its exit status.
        boards: `info -t board` by NPU.
        memory_holders: the processes with memory on a chip.
    """

    command: str
    output: Output
    table: Table | None = None
    complaint: str = ""
    codes: tuple[int, ...] = ()
    mapping: tuple[Mapped, ...] = ()
    boards: Mapping[int, Fields] = field(default_factory=dict)
    memory_holders: tuple[Holder, ...] = ()

    @property
    def cards(self) -> tuple[int, ...]:
        """The numbers of the cards."""
        return tuple(dict.fromkeys(chip.npu for chip in self.chips))

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The chips in the order in which a process counts them."""
        found = self.table.chips if self.table else ()
        logic = {(row.npu, row.chip): row.logic for row in self.mapping if row.logic is not None}
        if len(logic) < len(found):
            return found
        return tuple(sorted(found, key=lambda chip: logic.get((chip.npu, chip.chip), len(found))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine around the NPUs.

    Attributes:
        user: the output of `id`.
        container: the kind of container, "" if it does not appear to be one.
        mounts: the existing ones of MOUNTS.
        folder: the place of the weights: MODEL_PATH, or the working directory (".").
        folder_exists: whether it exists.
        variables: the relevant variables that are set.
        accelerators: Ascend NPUs on the PCI bus, as "vendor:device".
        gpus: device nodes of other makers' GPUs.
    """

    user: str = ""
    container: str = ""
    mounts: tuple[str, ...] = ()
    folder: str = "."
    folder_exists: bool = True
    disk: Space | None = None
    speed: ReadSpeed | None = None
    shm: Space | None = None
    port_holders: tuple[Listener, ...] = ()
    variables: Mapping[str, str]
    accelerators: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    processors: Processors
    memory: HostMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerFacts:
    """All facts for the checks. The facts of deeper levels have defaults.

    Attributes:
        reached: the completed level; below the wanted one only if `stopped` says why.
        nodes: /dev/davinciN; `control` the driver's other device nodes.
        neighbours: the devices as `npu-smi info -t topo` lists them.
        row: the row of the version matrix to compare with, and whether `--stack` selected it.
        ecc_after: the counters after the soak.
    """

    wanted: Wanted
    reached: Depth = Depth.SECONDS
    stopped: str = ""
    nodes: tuple[Entry, ...]
    control: tuple[Entry, ...]
    smi: Smi
    cann: Cann
    driver: Driver
    software: Software
    host: Host
    row: Row
    ecc: tuple[Ecc, ...] = ()
    links: Links
    neighbours: tuple[Neighbours, ...] = ()
    torch: Torch = field(default_factory=Torch)
    hccl: Hccl | None = None
    operators: Operators | None = None
    pairs: Pairs | None = None
    soak: Soak | None = None
    ecc_after: tuple[Ecc, ...] = ()

    @property
    def present(self) -> bool:
        """Whether there is any sign of an NPU.

        A container sees the host's PCI bus; if no NPU is wanted, a card outside the container does not count.
        """
        given = (
            self.nodes or self.smi.chips or self.torch.count or _HELD_BY_ANOTHER in self.smi.codes
        )
        meant_without = self.wanted.allow_none and self.host.container
        return bool(given or (self.host.accelerators and not meant_without))

    @property
    def fault(self) -> Callable[..., Finding]:
        """A failure; only a warning if the devices computed correctly, which is the stronger evidence.

        Unsettled at the first level, which does not let them compute.
        """
        if self.computed:
            return warn
        return fail if self.reached >= Depth.MINUTES else unsettled

    @property
    def computed(self) -> bool:
        """Whether every wanted device computed correctly: the strongest evidence."""
        needed = self.wanted.npus or self.torch.count or 1
        devices = self.torch.devices[:needed]
        return len(devices) == needed and all(device.right for device in devices)

    @property
    def visible(self) -> tuple[int, ...] | None:
        """ASCEND_RT_VISIBLE_DEVICES as numbers; None if it is not set or not a list of numbers."""
        words = self.host.variables.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",")
        numbers = [int(word) for word in words if word.strip().isascii() and word.strip().isdigit()]
        return tuple(numbers) if numbers and len(numbers) == len(words) else None

    @property
    def in_use(self) -> tuple[Chip, ...]:
        """The chips that a server would use."""
        return self.used(self.smi.chips)

    def used(self, devices: tuple[Device, ...]) -> tuple[Device, ...]:
        """The visible devices, limited to the wanted number."""
        if self.visible is not None:
            devices = tuple(devices[number] for number in self.visible if number < len(devices))
        return devices[: self.wanted.npus]

    @property
    def kinds(self) -> tuple[Npu, ...]:
        """The possible kinds of the NPU, by torch's name or by npu-smi's."""
        if self.torch.devices and (known := _kinds(self.torch.devices[0].name or "")):
            return known
        return _kinds(_kind_name(self.smi.chips))


def _kind_name(chips: tuple[Chip, ...]) -> str:
    """npu-smi calls the dies of an A3 just Ascend910; unlike a 910A, it has two per card, with physical ids."""
    if not chips:
        return ""
    name = chips[0].name.removeprefix("Ascend")
    if name in {"910", "910_93"} and chips[0].physical is not None:
        return "A3"
    return "910A" if name == "910" else chips[0].kind


def _kinds(name: str) -> tuple[Npu, ...]:
    return (find(name) or find(name[:-1])) if name else ()
