"""The programs that try torch_npu, run for real against stubs for torch and torch_npu."""

from __future__ import annotations

import json
import sys

import pytest

from healthcheck.extensions.runner import children, probes
from healthcheck.machine import installed
from healthcheck.machine.real import RealMachine
from tests.extensions.runner import torch_stubs

pytestmark = pytest.mark.process


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Says how the stubs behave; they are found as installed packages are."""
    monkeypatch.setenv("PYTHONPATH", str(torch_stubs.write(tmp_path / "site")))
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{python.parent}:/usr/bin:/bin")

    def tell(**behaviour):
        monkeypatch.setenv("TORCH_STUBS", json.dumps(behaviour))

    tell()
    return tell


def torch(**options):
    return probes.torch(
        RealMachine().python(children.TORCH, timeout_s=options.pop("timeout_s", 60))
    )


def test_versions_are_those_of_the_python_that_serves(told):
    found = installed.software(RealMachine())
    expected = {"torch": "2.9.0", "torch_npu": "2.9.0.post1", "vllm_ascend": "0.18.0"}
    assert expected.items() <= found.packages.items()
    assert found.python == ".".join(map(str, sys.version_info[:3]))


def test_devices_that_compute_right(told):
    told(count=2)
    found = torch()
    assert found.count == 2
    assert [device.right for device in found.devices] == [True, True]
    assert [product.kind for product in found.devices[1].products] == ["float16", "bfloat16"]
    assert found.devices[0].free_bytes == 60 * 2**30
    assert found.last == "end"
    assert not found.errors


def test_a_device_without_bfloat16(told):
    told(bfloat16=False)
    assert [product.kind for product in torch().devices[0].products] == ["float16"]


def test_a_device_that_computes_wrong(told):
    told(count=2, wrong_on="npu:1")
    first, second = torch().devices
    assert first.right
    assert [(product.wrong, product.of) for product in second.products] == [(1, 4096), (1, 4096)]


def test_an_error_on_one_device_leaves_the_others_tried(told):
    told(count=2, fails_on="npu:0")
    found = torch()
    assert found.devices[1].right
    assert not found.devices[0].right
    assert "561103" in found.errors[0].text
    assert found.errors[0].at == "product on device 0 in float16"
    assert (found.errors[0].during, found.errors[0].device) == ("product", 0)


@pytest.mark.slow
def test_a_hang_and_a_crash_show_where(told):
    told(count=2, hangs_on="npu:1")
    hung = torch(timeout_s=12)
    assert hung.output.trouble == "no end within 12 s"
    assert hung.devices[0].right
    assert hung.last == "the product on device 1"
    told(count=2, crashes_on="npu:1")
    crashed = torch()
    assert crashed.output.status == -6
    assert crashed.last == "the product on device 1"
    assert crashed.last_device == 1
    assert not crashed.at_end


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        ({"import_error": "libhccl.so: cannot open shared object file"}, "ImportError: libhccl.so"),
        ({"import_exit": 3}, "SystemExit: 3"),
    ],
)
def test_an_import_that_fails(told, behaviour, text):
    told(**behaviour)
    found = torch()
    assert not found.imported
    assert text in found.errors[0].text
    assert found.count is None


def test_devices_that_cannot_be_counted(told):
    told(count_error="drvRetCode=87")
    found = torch()
    assert found.imported
    assert found.count is None
    assert "drvRetCode=87" in found.errors[0].text


def hccl(world, timeout_s=60):
    return probes.hccl(RealMachine().python(children.HCCL, str(world), timeout_s=timeout_s), world)


def test_an_all_reduce(told, tmp_path):
    (tmp_path / "meeting").mkdir()
    told(meeting=str(tmp_path / "meeting"))
    found = hccl(3)
    assert found.right == (0, 1, 2)
    assert not found.wrong
    assert not found.errors


def test_an_all_reduce_with_a_wrong_sum(told, tmp_path):
    (tmp_path / "meeting").mkdir()
    told(meeting=str(tmp_path / "meeting"), wrong_rank=1)
    found = hccl(2)
    assert (found.right, found.wrong) == ((0,), (1,))


def test_a_rank_that_is_lost_keeps_nobody_waiting(told, tmp_path):
    (tmp_path / "meeting").mkdir()
    told(meeting=str(tmp_path / "meeting"), lost_rank=1)
    found = hccl(2)
    assert not found.right
    assert (found.errors[0].during, found.errors[0].device) == ("all-reduce", 1)
    assert "EI0006" in found.errors[0].text
    assert not found.output.trouble
