"""The two tables of NPU kinds agree: `adapter/chips.py`, which travels into submissions, and `data/chips.json`.

The adapter calls an A3 "A3", the kit "910C", by the name of its chip. This is the only kind with two names.
"""

from __future__ import annotations

import json

import pytest

from adapter.chips import CHIPS, FAMILIES, SERIES, chip_called, chips_meant
from adapter.device import find_machine
from healthcheck.ascend import hardware
from healthcheck.ascend.hardware import Family, Npu
from healthcheck.stages.plan.dry_run.stubs import image, npu_smi
from healthcheck.system.files import DATA
from tests.support.systems import RecordedSystem

TABLE = json.loads((DATA / "chips.json").read_text("ascii"))
KIND_OF_CHIP = {"A3": "910C"}
KINDS = pytest.mark.parametrize("kind", hardware.known(), ids=lambda kind: kind.name)
LAYOUTS = {
    Family.A3: "dies",
    Family.A5: "wide",
    Family.P310: "no-hbm",
    Family.B310: "no-hbm",
    Family.I310: "no-hbm",
}
"""The layout of npu-smi's table, for each family that has another one than the 910B."""
CARDS = 3


def kind_names(name: str) -> list[str]:
    return [kind.name for kind in hardware.find(name)]


def chip_names(name: str) -> list[str]:
    """The chips that the adapter takes for a name, as the kit calls them."""
    return [KIND_OF_CHIP.get(chip.name, chip.name) for chip in chips_meant(name)]


def test_both_tables_have_the_same_kinds() -> None:
    assert sorted(KIND_OF_CHIP.get(name, name) for name in CHIPS) == sorted(
        kind.name for kind in hardware.known()
    )


@KINDS
def test_the_kit_judges_by_the_same_memory_and_formats(kind: Npu) -> None:
    chip = chip_called(kind.name)
    assert chip is not None
    assert chip.hbm_mib * hardware.MIB == kind.memory_bytes
    assert (chip.hbm_mib - chip.reserved_mib) / 1024 == pytest.approx(
        kind.usable_bytes / hardware.GIB, abs=0.02
    )
    assert (chip.bfloat16, chip.family is not None) == (kind.bfloat16, kind.served)


@pytest.mark.parametrize("name", CHIPS)
def test_the_kit_knows_every_chip(name: str) -> None:
    assert chip_called(hardware.find(name)[0].name) == CHIPS[name]


@pytest.mark.parametrize(
    "name",
    ["A2", "A3", "A5", "Atlas 800I A2", "Atlas 800T A3", "Atlas 900 A3 SuperPoD", "Atlas 300I Duo", "310P Duo", "310P",
     "Atlas 300I Pro", "Atlas 200I A2", "Atlas 200T A2 Box16", "910B", "910C", "9392", "950", "910", "300I", "Ascend910B4-1"],
)  # fmt: skip
def test_the_kit_takes_the_same_kinds_for_a_name(name: str) -> None:
    assert chip_names(name) == kind_names(name)


def test_every_name_of_the_kit_means_the_same_kinds_to_the_adapter() -> None:
    names = {*TABLE["aliases"], *TABLE["several"]}
    names |= {kind[key] for kind in TABLE["kinds"] for key in ("name", "shown", "soc")}
    names |= {name.lower() for name in names} | {f"Atlas {name}" for name in names}
    assert {name: chip_names(name) for name in names} == {name: kind_names(name) for name in names}


def test_every_kind_that_a_pattern_of_the_adapter_gives_is_one_of_the_kit() -> None:
    given = {name for _, name in FAMILIES} | {name for _, names in SERIES for name in names}
    assert {name: chip_names(name) for name in given} == {name: kind_names(name) for name in given}


@KINDS
def test_the_adapter_counts_the_devices_of_each_card(
    kind: Npu, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = CARDS * kind.per_card
    shown = {
        "count": count,
        "per_card": kind.per_card,
        "name": kind.shown,
        "memory_mib": kind.memory_mib,
        "table": LAYOUTS.get(kind.family, "hbm"),
    }
    monkeypatch.setattr(image, "devices", lambda: shown)
    table = "\n".join(npu_smi.run(["info"]))
    machine = find_machine(RecordedSystem(table))
    assert (machine.devices, machine.hbm_mib) == (count, kind.memory_mib)
