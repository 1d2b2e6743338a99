"""Every recorded output of npu-smi parses to what a person reads in it."""

from __future__ import annotations

import dataclasses

import pytest

from adapter.device import find_machine
from healthcheck.machine import npu_smi
from healthcheck.machine.npu_smi import SmiError
from tests.recordings import as_read
from tests.support.recordings import recording
from tests.support.systems import RecordedSystem

FOLDER = "ascend/npu-smi"


def text(name: str) -> str:
    """The output; the recorder's own comment lines left out."""
    lines = recording(f"{FOLDER}/{name}").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("name", as_read.TABLES)
def test_a_table_reads_as_a_person_reads_it(name):
    expected = as_read.TABLES[name]
    table = npu_smi.parse(text(name))
    assert (table.tool, table.driver) == expected["versions"]
    columns = (
        "npu",
        "chip",
        "physical",
        "name",
        "health",
        "power_w",
        "temperature_c",
        "used_mib",
        "total_mib",
    )
    assert [tuple(getattr(chip, column) for column in columns) for chip in table.chips] == expected[
        "chips"
    ]
    holders = (
        None if table.holders is None else [dataclasses.astuple(holder) for holder in table.holders]
    )
    assert holders == expected["holders"]


@pytest.mark.parametrize("name", as_read.ERRORS)
def test_an_error_is_no_table_and_its_codes_are_read(name):
    assert npu_smi.error_codes(text(name)) == as_read.ERRORS[name]
    with pytest.raises(SmiError):
        npu_smi.parse(text(name))


def test_no_recorded_file_is_left_out():
    known = {*as_read.TABLES, *as_read.ERRORS, *as_read.MAPPINGS, *as_read.FIELDS}
    known |= {*as_read.REFUSED, *as_read.PROCESS_MEMORY}
    names = {path.name for path in recording(FOLDER).iterdir()}
    assert {
        name for name in names if not name.startswith("info-l_")
    } == known  # which the kit does not ask


@pytest.mark.parametrize(
    ("file", "devices", "chip", "hbm_mib"),
    [
        ("info_310P3_25.3.rc1_duo-4card-8chip_container_hot_procs-noname.txt", 8, "310P3", 43693),
        ("info_910A_22.0.3.1_8x_OK_noproctable.txt", 8, "910A", 32768),
        ("info_910B2C_23.0.2.1_2x_OK_procs.txt", 2, "910B2C", 65536),
        ("info_910B3_26.x_8x_OK_container-pid-column.txt", 8, "910B3", 65536),
        ("info_910B4-1_25.2.0_8x_OK_mixed-procs.txt", 8, "910B4-1", 65536),
        ("info_910B4_25.5.2_container-single-npu-id5_OK_idle.txt", 1, "910B4", 32768),
        ("info_910B4_26.0.rc1_1x_OK_idle_wide.txt", 1, "910B4", 32768),
        ("info_950DT_25.6.rc1.b169_OK_procs.txt", 4, "Ascend950DT", 86016),
        ("info_A3-910_93_26.0.rc1_dual-chip_procs.txt", 4, "Ascend910", 65536),
        ("info_310_20.2.0_4chip_OK.txt", 4, "310", 8192),
    ],
)
def test_the_adapter_finds_the_same_devices(file, devices, chip, hbm_mib):
    machine = find_machine(RecordedSystem(recording(f"{FOLDER}/{file}").read_text()))
    assert (machine.devices, machine.chip, machine.hbm_mib) == (devices, chip, hbm_mib)
