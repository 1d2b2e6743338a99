"""Ascend NPU kinds: their memory, and their support by vllm-ascend. Data with its source.

Sources: memory per chip as `npu-smi info` prints it and as torch_npu reports it (recorded outputs of such machines,
2026-08; the smallest where boards differ, and for the 310B the vendor's documentation); number formats from
torch_npu's NpuVariables (bfloat16 from 910B1 on); supported kinds from vllm-ascend's hardware table and its FAQ, at
182b75ea84ff (2026-08-22). The service does not say which kind it has. `adapter/chips.py` has the same figures.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.text.messages import msg

GIB = 2**30
MIB = 2**20


class Family(enum.Enum):
    """SoC families, by the name that vllm-ascend's images and documentation use."""

    A1 = "910A"
    A2 = "910B"
    A3 = "910C (A3)"
    P310 = "310P"
    B310 = "310B"
    I310 = "310"
    A5 = "950"


@dataclass(frozen=True, slots=True, kw_only=True)
class Npu:
    """One kind of NPU. Memory is that of one device as torch sees it: a chip, or a die of an A3 card.

    Attributes:
        memory_bytes: the size that npu-smi prints.
        usable_bytes: the total that torch_npu reports; an estimate if none was recorded.
        bfloat16: whether it computes in bfloat16; if not, only in float16.
        served: whether vllm-ascend supports it.
        devices: how many a usual machine has.
        shown: its name in the table of npu-smi; `soc` its name in torch_npu.
        per_card: how many devices a card has.
    """

    name: str
    family: Family
    memory_bytes: int
    usable_bytes: int
    bfloat16: bool
    served: bool
    devices: int
    shown: str
    soc: str
    per_card: int

    @property
    def label(self) -> str:
        """Its name, with the one of its series where people say that one."""
        return self.family.value if self.family is Family.A3 else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The NPUs of one machine: `count` devices of a kind."""

    kind: Npu
    count: int


def _kind(
    name: str,
    family: Family,
    memory_mib: int,
    usable_gib: float,
    devices: int = 8,
    *,
    shown: str = "",
    soc: str = "",
    per_card: int = 1,
) -> Npu:
    return Npu(
        name=name,
        family=family,
        memory_bytes=memory_mib * MIB,
        usable_bytes=int(usable_gib * GIB),
        bfloat16=family in {Family.A2, Family.A3, Family.A5},
        served=family in {Family.A2, Family.A3, Family.A5, Family.P310},
        devices=devices,
        shown=shown or name,
        soc=soc or f"Ascend{name}",
        per_card=per_card,
    )


KINDS = (
    _kind("910B1", Family.A2, 65536, 60.96),
    _kind("910B2", Family.A2, 65536, 60.96),
    _kind("910B2C", Family.A2, 65536, 60.96),
    _kind("910B3", Family.A2, 65536, 60.96),
    _kind("910B4", Family.A2, 32768, 28.5),
    _kind("910B4-1", Family.A2, 65536, 60.96),
    _kind("910C", Family.A3, 65536, 60.97, 16, shown="Ascend910", soc="Ascend910_9391", per_card=2),
    _kind("950DT", Family.A5, 86016, 77.5, shown="Ascend950DT"),
    _kind("950PR", Family.A5, 131072, 121.5, shown="Ascend950PR"),
    _kind("310P3", Family.P310, 21527, 21.02, devices=1),
    _kind("310P3-Duo", Family.P310, 43693, 42.67, 2, shown="310P3", soc="Ascend310P3", per_card=2),
    _kind("910A", Family.A1, 32768, 28.5),
    _kind("910ProB", Family.A1, 32768, 28.5),
    _kind("310B", Family.B310, 12288, 10.56, devices=1),
    _kind("310", Family.I310, 8192, 7.0, 4, per_card=4),
)
ALIASES = {
    "A3": "910C", "800TA3": "910C", "800IA3": "910C", "900A3": "910C", "9000A3": "910C", "A200TA3BOX8": "910C",
    "9391": "910C", "9392": "910C", "9381": "910C", "9382": "910C", "9372": "910C", "9362": "910C",
    "A2": "910B", "800TA2": "910B", "800IA2": "910B", "900A2": "910B", "900A2POD": "910B", "200TA2BOX16": "910B",
    "300TA2": "910B", "300IA2": "910B", "A5": "950", "200IA2": "310B",
    "310PDUO": "310P3DUO", "300IDUO": "310P3DUO", "300IPRO": "310P3",
    "310P1": "310P3", "310P5": "310P3", "310P7": "310P3", "910PROA": "910A", "910PREMIUMA": "910A",
}  # fmt: skip
"""Huawei's names of products and series, and of variants. Source: the hardware table of vllm-ascend's installation
guide and its FAQ, at 0.23.0, and its issues 3569 and 5651 for the Atlas 300I A2."""
SEVERAL = {"910": ("910A", "910PROB", "910C"), "300I": ("310", "310P3", "310P3DUO")}
"""Names of unlike kinds: npu-smi calls an A3 Ascend910, and there were three generations of the Atlas 300I."""
USUAL = ("910B4", "910B3", "910C")
"""The kinds to list if the author named none: the two sizes of the 910B, and the A3."""
ASSUMED = "910B3"
"""The kind that is assumed if none is named and the machine has no NPU."""


def find(name: str) -> tuple[Npu, ...]:
    """The kinds that a name may mean, smallest memory first; empty if it means none.

    "Ascend910B4", "910b4" and "Atlas 910B4" are one kind; "910B" and "Atlas 800I A2" may be any of six. Of a
    virtual one ("310P3-vir04") this is the kind that it is cut from: its memory is less.
    """
    key = re.sub(r"ASCEND|ATLAS|HUAWEI|NPU|SUPERPOD|VIR\d.*$|[^0-9A-Z]", "", name.upper())
    key = re.sub(r"^910(93\d\d)$", r"\1", key)
    key = ALIASES.get(key, key)
    exact = [kind for kind in KINDS if _key(kind) in SEVERAL.get(key, (key,))]
    close = [kind for kind in KINDS if len(key) >= 3 and _key(kind).startswith(key)]
    # "950PR_9599" and "310B4": a kind, and which variant of it.
    variant = [kind for kind in KINDS if re.fullmatch(rf"{_key(kind)}\d+", key)]
    return tuple(sorted(exact or close or variant, key=lambda kind: kind.memory_bytes))


def doubt(name: str) -> str:
    """What to add where the smallest kind of a name is judged: the kinds that it may mean; "" if all are alike."""
    kinds = find(name)
    if len({kind.usable_bytes for kind in kinds}) < 2:
        return ""
    plain = re.sub(r"[^\w. -]", "", name)
    return msg(", the smallest kind that {plain} may mean: {name}", plain, ", ".join(kind.name for kind in kinds))


def _key(kind: Npu) -> str:
    return re.sub(r"[^0-9A-Z]", "", kind.name.upper())


def named_devices(npu: str, npus: int) -> Devices:
    """The devices that `--npu` and `--npus` name: by default the assumed kind, and as many as a usual machine has.

    `npu` names a known kind or is "". Of several kinds with the same name, the one with the least memory counts.
    """
    kind = find(npu or ASSUMED)[0]
    return Devices(kind=kind, count=npus or kind.devices)


def listed_devices(names: Sequence[str], memory_mib: int) -> Devices | None:
    """The devices in a table of npu-smi, by their names and the memory of one; None if the kind is unknown."""
    kinds = [kind for name in names[:1] for kind in KINDS if kind.shown == name] or find("".join(names[:1]))
    nearest = min(kinds, key=lambda kind: abs(kind.memory_bytes - memory_mib * MIB), default=None)
    return Devices(kind=nearest, count=len(names)) if nearest else None
