"""Every recorded output of npu-smi parses to what a person reads in it."""

from __future__ import annotations

import dataclasses

import pytest

from healthcheck.runner import npu_smi, npu_smi_queries
from healthcheck.runner.npu_smi import SmiError
from tests.runner import as_read
from tests.support.shared import shared

FOLDER = "data/ascend/npu-smi"


def text(name: str) -> str:
    """The output; the recorder's own comment lines left out."""
    lines = shared(f"{FOLDER}/{name}").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("name", as_read.TABLES)
def test_a_table_reads_as_a_person_reads_it(name):
    expected = as_read.TABLES[name]
    table = npu_smi.parse(text(name))
    assert (table.tool, table.driver) == expected["versions"]
    columns = ("npu", "chip", "physical", "name", "health", "bus", "power_w", "temperature_c", "utilization")
    columns += ("used_mib", "total_mib")
    assert [tuple(getattr(chip, column) for column in columns) for chip in table.chips] == expected["chips"]
    holders = None if table.holders is None else [dataclasses.astuple(holder) for holder in table.holders]
    assert holders == expected["holders"]
    assert table.idle == expected.get("idle", ())


@pytest.mark.parametrize("name", as_read.ERRORS)
def test_an_error_is_no_table_and_its_codes_are_read(name):
    assert npu_smi.error_codes(text(name)) == as_read.ERRORS[name]
    with pytest.raises(SmiError):
        npu_smi.parse(text(name))


@pytest.mark.parametrize("name", as_read.CARDS)
def test_the_list_of_cards(name):
    assert list(npu_smi_queries.cards(text(name))) == as_read.CARDS[name]


@pytest.mark.parametrize("name", as_read.MAPPINGS)
def test_the_mapping_of_chips(name):
    assert [dataclasses.astuple(row) for row in npu_smi_queries.mapping(text(name))] == as_read.MAPPINGS[name]


@pytest.mark.parametrize("name", as_read.FIELDS)
def test_answers_of_names_and_values(name):
    card, chips = as_read.FIELDS[name]
    found = npu_smi_queries.fields(text(name))
    assert {key: found.whole.get(key) for key in card} == card
    assert found.chips.keys() == chips.keys()
    for number, values in chips.items():
        assert {key: found.chips[number].get(key) for key in values} == values


@pytest.mark.parametrize("name", as_read.REFUSED)
def test_a_refused_query(name):
    assert all(npu_smi_queries.refused(line) for line in text(name).splitlines())
    assert not npu_smi_queries.fields(text(name)).chips


@pytest.mark.parametrize("name", as_read.PROCESS_MEMORY)
def test_the_memory_of_processes(name):
    found = npu_smi_queries.process_memory(text(name), npu=0, chip=0)
    assert [dataclasses.astuple(holder) for holder in found] == as_read.PROCESS_MEMORY[name]


def test_no_recorded_file_is_left_out():
    known = {*as_read.TABLES, *as_read.ERRORS, *as_read.CARDS, *as_read.MAPPINGS, *as_read.FIELDS}
    known |= {*as_read.REFUSED, *as_read.PROCESS_MEMORY}
    assert {path.name for path in shared(FOLDER).iterdir()} == known
