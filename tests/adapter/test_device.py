"""Finding NPUs in what npu-smi prints, in all five layouts, and in device nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.chips import CHIPS, chip_called
from adapter.device import LocalSystem, Machine, described_machine, find_machine
from adapter.settings import SettingsError
from tests.support.systems import RecordedSystem

LAYOUT_A = """\
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 5     910B4               | {health}      | 89.9        39                0    / 0             |
| 0                         | 0000:41:00.0  | 0           0    / 0          2922/ 32768          |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
| 5       0                 | 326430        | VLLMWorker               | 29000                   |
"""
LAYOUT_B = """\
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 0     Ascend910           | {health}      | 178.8       36                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3397 / 65536         |
+------------------------------------------------------------------------------------------------+
| 0     Ascend910           | {health}      | -           36                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 0           0    / 0          3186 / 65536         |
"""
LAYOUT_C = LAYOUT_A.replace(
    "Process memory(MB)      |", "Process memory(MB)      | Process id in container |"
).replace("29000                   |", "29000                   | NA                      |")
LAYOUT_D = """\
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
| 32896   310P3                 | {health}        | NA           84                16885 / 16885         |
| 0       6                     | NA              | 0            35552/ 44278                            |
"""
LAYOUT_E = """\
| NPU ID | Name             | Health        | Power(W)              Temp(C)                  Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%)           Memory-Usage(MB)         HBM-Usage(MB)         |
| 0      | Ascend950DT      | {health}      | 380.7                 44                       0     / 0             |
|        |                  | NA            | 0                     0     / 0                6632  / 86016         |
| NPU ID                    | Process id    | Process name       | Process memory(MB)    | Process id in container |
| 0                         | 3621066       | VLLMWorker         | 40000                 | NA                      |
"""


@pytest.mark.parametrize(
    "health",
    ["OK", "Warning", "Alarm", "Critical", "UNKNOWN", "NA", "-", "正常", "\x1b[31mOK\x1b[0m"],
)
@pytest.mark.parametrize(
    ("table", "devices", "chip", "hbm_mib"),
    [
        (LAYOUT_A, 1, "910B4", 32768), (LAYOUT_B, 2, "Ascend910", 65536), (LAYOUT_C, 1, "910B4", 32768),
        (LAYOUT_D, 1, "310P3", 44278), (LAYOUT_E, 1, "Ascend950DT", 86016),
    ],
    ids="ABCDE",
)  # fmt: skip
def test_the_five_layouts(table, devices, chip, hbm_mib, health):
    machine = find_machine(RecordedSystem(table.format(health=health)))
    assert (machine.devices, machine.chip, machine.hbm_mib) == (devices, chip, hbm_mib)


OLD_910A = """
| 0     910B                | OK            | 78.0        38                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           {beside}      18   / {hbm}         |
"""


@pytest.mark.parametrize(
    ("beside", "hbm", "chip"),
    [
        ("2387 / 13553", 32768, "910A"),
        ("0    / 0    ", 32768, "910B"),
        ("2387 / 13553", 65536, "910B"),
    ],
)
def test_npu_smi_24_1_0_calls_a_910a_a_910b(beside, hbm, chip):
    assert find_machine(RecordedSystem(OLD_910A.format(beside=beside, hbm=hbm))).chip == chip


def test_no_npu():
    assert find_machine(RecordedSystem()).devices == 0


def test_nodes_alone_are_npus_of_unknown_kind():
    assert find_machine(RecordedSystem(nodes=2)) == Machine(2, None, None, "/dev/davinci*")


def test_no_more_devices_than_nodes():
    assert find_machine(RecordedSystem(LAYOUT_B.format(health="OK"), nodes=1)).devices == 1


def test_visible_devices_are_the_ones_that_count():
    machine = find_machine(
        RecordedSystem(nodes=8, environment={"ASCEND_RT_VISIBLE_DEVICES": "0, 3"})
    )
    assert machine.devices == 2
    assert "ASCEND_RT_VISIBLE_DEVICES" in machine.source


def test_an_empty_list_of_visible_devices_hides_none():
    assert (
        find_machine(RecordedSystem(nodes=8, environment={"ASCEND_RT_VISIBLE_DEVICES": ""})).devices
        == 8
    )


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        ("910B3", "910B3"), ("910B4-1", "910B4-1"), ("Ascend910B2C", "910B2C"), ("Ascend910", "A3"),
        ("Ascend910_9391", "A3"), ("A3", "A3"), ("a3", "A3"), ("910ProB", "910ProB"), ("910A", "910A"),
        ("310P1", "310P3"), ("Ascend 310P3", "310P3"), ("Ascend950PR", "950PR"), ("950", "950DT"), ("310B4", "310B"),
        ("A100", None), ("910X", None), ("910BX", None), ("310X", None), ("950X", None), ("910B", "910B3"),
        ("910PremiumA", "910A"), ("310P3-vir04", "310P3"), ("310", "310"), ("310P3-Duo", "310P3-Duo"), ("Ascend950PR_9599", "950PR"),
        ("xxx", None), ("", None),
    ],
)  # fmt: skip
def test_names_of_chips(name, chip):
    found = chip_called(name)
    assert (found.name if found else None) == chip


@pytest.mark.parametrize(
    ("name", "chip"), [("A2", "910B4"), ("Atlas 800I A2", "910B4"), ("A5", "950DT")]
)
def test_a_described_series_is_its_smallest_chip(name, chip):
    machine = described_machine(name, 2)
    assert (machine.chip, machine.hbm_mib) == (chip, CHIPS[chip].hbm_mib)
    assert f"--npu {name}, the smallest of {chip}, " in machine.source


@pytest.mark.parametrize(
    ("name", "either"),
    [("910", "910A or 910ProB or A3"), ("Atlas 300I", "310 or 310P3 or 310P3-Duo")],
)
def test_a_name_of_unlike_chips_is_answered_with_them(name, either):
    with pytest.raises(SettingsError, match=f"--npu {name} may be {either}: name one"):
        described_machine(name, 1)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_described_machine(chip):
    machine = described_machine(chip, 4)
    assert (machine.devices, machine.chip) == (4, chip)


def test_an_unheard_of_chip_lists_the_known_ones():
    with pytest.raises(SettingsError, match="910B4"):
        described_machine("H100", 1)


@given(st.text(alphabet="|0123456789 OKNA/:.Ascend910B\n", max_size=400))
def test_no_table_is_too_broken(text):
    machine = find_machine(RecordedSystem(text))
    assert machine.devices >= 0


@pytest.mark.process
def test_an_npu_smi_that_fails_or_hangs_is_none(tmp_path):
    program = tmp_path / "npu-smi"
    program.write_text("#!/bin/sh\necho 'dcmi module initialize failed. ret is -8005'\nexit 1\n")
    program.chmod(0o755)
    assert LocalSystem({"PATH": str(tmp_path)}).npu_smi() == ""
    assert LocalSystem({"PATH": "/nonexistent"}).npu_smi() == ""
