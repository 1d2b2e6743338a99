"""Every recorded answer of npu-smi to a narrower query parses to what a person reads in it."""

from __future__ import annotations

import dataclasses

import pytest

from healthcheck.extensions.runner import links, npu_smi_queries
from tests.recordings import as_read
from tests.recordings.test_npu_smi import text
from tests.support.systems import AnsweringMachine


@pytest.mark.parametrize("name", as_read.MAPPINGS)
def test_the_mapping_of_chips(name):
    found = [dataclasses.astuple(row) for row in npu_smi_queries.mapping(text(name))]
    assert found == [(npu, chip, logic) for npu, chip, logic, *_ in as_read.MAPPINGS[name]]


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
    assert not npu_smi_queries.fields(text(name)).chips


@pytest.mark.parametrize("name", as_read.PROCESS_MEMORY)
def test_the_memory_of_processes(name):
    found = npu_smi_queries.process_memory(text(name), npu=0, chip=0)
    assert [dataclasses.astuple(holder) for holder in found] == as_read.PROCESS_MEMORY[name]


def test_the_state_of_a_network_port():
    answer = {"status": 0, "stdout": text("hccn_tool-link-g_DOWN.txt").splitlines()}
    machine = AnsweringMachine(commands={"hccn_tool -i 0 -link -g": answer})
    assert links.query(machine, (0,)).ports == (links.Port(device=0, link="DOWN"),)
