"""Ascend NPU kinds: their memory, and their support by vllm-ascend, from `data/chips.json`.

Sources: number formats from torch_npu's NpuVariables (bfloat16 from 910B1 on); supported kinds from vllm-ascend's
hardware table and its FAQ, at 182b75ea84ff (2026-08-22); the rest as the file says. The service does not say which
kind it has. `adapter/chips.py` has the same kinds, names and figures (tests/adapter/test_chips.py compares them).
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from healthcheck.system import json_text
from healthcheck.system.files import DATA
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
        memory_mib: the size that npu-smi prints.
        usable_gib: the total that torch_npu reports; an estimate if none was recorded.
        devices: how many a typical machine has.
        per_card: how many devices a card has.
        shown: its name in the table of npu-smi; `soc` its name in torch_npu.
    """

    name: str
    family: Family
    memory_mib: int
    usable_gib: float
    devices: int
    per_card: int
    shown: str
    soc: str

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * MIB

    @property
    def usable_bytes(self) -> int:
        return int(self.usable_gib * GIB)

    @property
    def bfloat16(self) -> bool:
        """Whether it computes in bfloat16; if not, only in float16."""
        return self.family in {Family.A2, Family.A3, Family.A5}

    @property
    def served(self) -> bool:
        """Whether vllm-ascend supports it."""
        return self.bfloat16 or self.family is Family.P310

    @property
    def label(self) -> str:
        """The name that people use: the series for an A3, otherwise the kind."""
        return self.family.value if self.family is Family.A3 else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The NPUs of one machine: `count` devices of a kind."""

    kind: Npu
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    """The kinds, and other names.

    Attributes:
        aliases: Huawei's names of products and series, and of variants.
        several: names of several unlike kinds: npu-smi calls an A3 Ascend910, and the Atlas 300I had three
            generations.
    """

    kinds: tuple[Npu, ...]
    aliases: Mapping[str, str]
    several: Mapping[str, tuple[str, ...]]


@functools.cache
def _catalogue() -> _Catalogue:
    return json_text.load_as((DATA / "chips.json").read_bytes(), _Catalogue)


def known() -> tuple[Npu, ...]:
    return _catalogue().kinds


USUAL = ("910B4", "910B3", "910C")
"""The kinds to list if the author named none: the two sizes of the 910B, and the A3."""
ASSUMED = "910B3"
"""The default kind, if none is named and the machine has no NPU."""


def find(name: str) -> tuple[Npu, ...]:
    """The kinds that a name may mean, smallest memory first; empty for an unknown name.

    "Ascend910B4", "910b4" and "Atlas 910B4" are one kind; "910B" and "Atlas 800I A2" may be any of six. A virtual
    NPU ("310P3-vir04") gives the kind that it is a part of, which has more memory.
    """
    key = re.sub(r"ASCEND|ATLAS|HUAWEI|NPU|SUPERPOD|VIR\d.*$|[^0-9A-Z]", "", name.upper())
    key = re.sub(r"^910(93\d\d)$", r"\1", key)
    key = _catalogue().aliases.get(key, key)
    names = _catalogue().several.get(key, (key,))
    exact = [kind for kind in known() if _key(kind) in names]
    close = [kind for kind in known() if len(key) >= 3 and _key(kind).startswith(key)]
    # "950PR_9599" and "310B4": a kind, and which variant of it.
    variant = [kind for kind in known() if re.fullmatch(rf"{_key(kind)}\d+", key)]
    return tuple(sorted(exact or close or variant, key=lambda kind: kind.memory_bytes))


def doubt(name: str) -> str:
    """The addition to a judgement by the smallest kind of a name, listing all kinds; "" if all are alike."""
    kinds = find(name)
    if len({kind.usable_bytes for kind in kinds}) < 2:
        return ""
    plain = re.sub(r"[^\w. -]", "", name)
    return msg(
        ", the smallest kind that {plain} may mean: {name}",
        plain=plain,
        name=", ".join(kind.name for kind in kinds),
    )


def _key(kind: Npu) -> str:
    return re.sub(r"[^0-9A-Z]", "", kind.name.upper())


def named_devices(npu: str, npus: int) -> Devices:
    """The devices of `--npu` and `--npus`; by default the assumed kind, and as many as a typical machine has.

    `npu` names a known kind or is "". If several kinds have the name, the one with the least memory counts.
    """
    kind = find(npu or ASSUMED)[0]
    return Devices(kind=kind, count=npus or kind.devices)


def listed_devices(names: Sequence[str], memory_mib: int) -> Devices | None:
    """The devices in a table of npu-smi, from their names and the memory of one; None if the kind is unknown."""
    kinds = [kind for name in names[:1] for kind in known() if kind.shown == name] or find(
        "".join(names[:1])
    )
    nearest = min(kinds, key=lambda kind: abs(kind.memory_bytes - memory_mib * MIB), default=None)
    return Devices(kind=nearest, count=len(names)) if nearest else None
