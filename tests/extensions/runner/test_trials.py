"""The longer programs that try the devices, run for real against stubs for torch, torch_npu and torch.distributed."""

from __future__ import annotations

import itertools
import json
import sys

import pytest

from healthcheck.extensions.runner import children, probes
from healthcheck.extensions.runner.trial_records import Soak
from healthcheck.machine.real import RealMachine
from tests.extensions.runner import torch_stubs
from tests.machine.tables import Row, info

pytestmark = pytest.mark.process


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Says how the stubs behave; they are found as installed packages are."""
    monkeypatch.setenv("PYTHONPATH", str(torch_stubs.write(tmp_path / "site")))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    (tmp_path / "meeting").mkdir()

    def tell(**behaviour):
        monkeypatch.setenv(
            "TORCH_STUBS", json.dumps({"meeting": str(tmp_path / "meeting"), **behaviour})
        )
        return folder

    tell()
    return tell


def operators():
    return probes.operators(RealMachine().python(children.OPERATORS, timeout_s=60))


def test_operators_that_can_be_imported(told):
    found = operators()
    assert (found.module, found.count, found.errors) == ("vllm_ascend.vllm_ascend_C", 2, ())


def test_operators_that_cannot(told):
    told(operators_error="libascendcl.so: cannot open shared object file")
    found = operators()
    assert not found.module
    assert "libascendcl.so" in found.errors[0].text
    assert found.errors[0].at == "import vllm_ascend.vllm_ascend_C"


def pairs(world):
    return probes.pairs(RealMachine().python(children.PAIRS, str(world), timeout_s=90), world)


@pytest.mark.parametrize("world", [3, 4])
def test_every_pair_is_tried_once(told, world):
    found = pairs(world)
    expected = sorted(itertools.combinations(range(world), 2))
    assert sorted(pair.devices for pair in found.each) == expected
    assert all(
        sorted(pair.right) == list(pair.devices) and len(pair.seconds) == 3 for pair in found.each
    )
    assert not found.errors


def test_a_device_that_gets_another_sum_is_wrong_in_each_of_its_pairs(told):
    told(wrong_rank=1)
    found = pairs(3)
    assert {pair.devices: pair.wrong for pair in found.each} == {
        (0, 1): (1,),
        (0, 2): (),
        (1, 2): (1,),
    }


def test_a_pair_that_does_not_meet_is_named(told):
    told(broken_pair=[1, 2])
    found = pairs(3)
    assert any("EI0006" in error.text and "1 and 2" in error.at for error in found.errors)
    assert not found.output.trouble


def soak(tool, *, seconds=2.5, count=2) -> Soak:
    words = (f"{seconds:g}", str(count), "16", str(tool))
    output = RealMachine().python(children.SOAK, *words, timeout_s=90)
    return probes.soak(output, asked_s=seconds, count=count)


def npu_smi(folder, body):
    tool = folder / "npu-smi"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    return tool


def test_a_soak_of_two_devices(told, tmp_path):
    (tmp_path / "table").write_text(
        info("A3", [Row(npu=0), Row(npu=0, chip=1)], [(0, 0, 42, "python3", 500)])
    )
    found = soak(npu_smi(told(), f"cat {tmp_path}/table"))
    assert found.output.status == 0
    assert found.lasted_s >= 2.5
    assert {(reading.npu, reading.chip, reading.temperature_c) for reading in found.readings} == {
        (0, 0, 41),
        (0, 1, 41),
    }
    for device in (0, 1):
        own = [window for window in found.windows if window.index == device]
        assert 0 < len(own) <= 3
        assert all(window.products and not window.wrong for window in own)
        assert (found.speed(device) or 0) > 0


def test_a_soak_finds_the_device_that_is_wrong(told):
    found = soak(npu_smi(told(wrong_on="npu:1"), "exit 1"), seconds=1)
    assert {window.index for window in found.windows if window.wrong} == {1}
    assert not found.readings


@pytest.mark.parametrize(
    "tool",
    ["echo 'dcmi module initialize failed. ret is -8005'; exit 1", "head -c 5000000 /dev/zero"],
)
def test_a_soak_does_without_a_table(told, tool):
    found = soak(npu_smi(told(), tool), seconds=1, count=1)
    assert found.output.status == 0
    assert not found.readings


def test_a_device_that_fails_before_the_soak_keeps_no_other_from_it(told):
    found = soak(npu_smi(told(fails_on="npu:0"), "exit 1"), seconds=1)
    assert found.output.status == 0
    assert [(error.device, "561103" in error.text) for error in found.errors] == [(0, True)]
    assert {window.index for window in found.windows} == {1}


def test_a_crash_during_the_soak_shows_which_device_has_no_result(told):
    found = soak(npu_smi(told(crashes_on="npu:1"), "exit 1"), seconds=1)
    assert {window.index for window in found.windows} == {0}
    assert found.output.status == 0
