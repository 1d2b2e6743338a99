"""The Ascend chips that vllm-ascend distinguishes, and the memory of each that torch reports."""

from __future__ import annotations

import re
from dataclasses import dataclass

A2, A3, A310P, A950 = "A2", "A3", "310P", "950"


@dataclass(frozen=True)
class Chip:
    """One chip, or one die if a card has two (A3): what torch counts as a device.

    `hbm_mib` is the memory that npu-smi shows, `reserved_mib` the part that driver and CANN keep. `family` is None
    for chips that vllm-ascend does not support.
    """

    name: str
    family: str | None
    hbm_mib: int
    reserved_mib: int

    @property
    def bfloat16(self) -> bool:
        """Whether it computes in bfloat16 (from the 910B on)."""
        return self.family in {A2, A3, A950}


# Memory: 64 GB chips give torch 60.96 GiB of 64, 32 GB ones 28.5 of 32, a 310P chip all that npu-smi shows. Of the
# 950, only what an idle chip shows as used is known; a 310B's is its documentation's.
CHIPS = {
    chip.name: chip
    for chip in (
        *(Chip(name, A2, 65536, 3113) for name in ("910B1", "910B2", "910B2C", "910B3", "910B4-1")),
        Chip("910B4", A2, 32768, 3584),
        Chip("A3", A3, 65536, 3113),
        Chip("310P3", A310P, 21527, 0),
        Chip("310P3-Duo", A310P, 43693, 0),
        Chip("950DT", A950, 86016, 6656),
        Chip("950PR", A950, 131072, 6656),
        Chip("910A", None, 32768, 3584),
        Chip("910ProB", None, 32768, 3584),
        Chip("310B", None, 12288, 1478),
        Chip("310", None, 8192, 1024),
    )
}
OF_A2 = r"(800[TI]|900|300[TI])?A2(POD)?|200TA2BOX16"
FAMILIES = (
    (r"910(_9\d+)?|93\d\d|910C|(800[TI]|900|9000|A200T)?A3(BOX8)?", "A3"),
    (r"910B4-1.*", "910B4-1"),
    (r"910B4.*", "910B4"),
    (rf"910B(\d.*)?|{OF_A2}", "910B3"),
    (r"310P3?-?DUO|300I-?DUO", "310P3-Duo"),
    (r"310P(\d.*)?|300IPRO", "310P3"),
    (r"950PR(_.*)?", "950PR"),
    (r"950(DT)?(_.*)?|A5", "950DT"),
    (r"910A|910PROA|910PREMIUM.*", "910A"),
    (r"310B\d?|200IA2", "310B"),
)
SERIES = (
    (rf"910B|{OF_A2}", ("910B4", "910B1", "910B2", "910B2C", "910B3", "910B4-1")),
    (r"310P", ("310P3", "310P3-Duo")),
    (r"950|A5", ("950DT", "950PR")),
    (r"910", ("910A", "910ProB", "A3")),
    (r"300I", ("310", "310P3", "310P3-Duo")),
)
"""Names of several chips each, the chip with the least memory first."""


def chip_called(name: str) -> Chip | None:
    """The chip of a name from npu-smi (whose "Ascend910" is an A3) or a person; None if it is unknown."""
    short = _short(name)
    if short in CHIPS:
        return CHIPS[short]
    return next((CHIPS[known] for pattern, known in FAMILIES if re.fullmatch(pattern, short)), None)


def chips_meant(name: str) -> tuple[Chip, ...]:
    """The chips that a name from a person may mean, the one with the least memory first; empty if it is unknown."""
    short, one = _short(name), chip_called(name)
    several = next((names for pattern, names in SERIES if re.fullmatch(pattern, short)), ())
    return tuple(CHIPS[each] for each in several) or ((one,) if one else ())


def _short(name: str) -> str:
    return re.sub(r"(?i)ascend|atlas|huawei|superpod|\s", "", name).upper().replace("PROB", "ProB")
