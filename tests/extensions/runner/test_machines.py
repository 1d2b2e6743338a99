"""Recorded machines replay to the verdict and the findings that a person expects of them."""

from __future__ import annotations

import pytest

from healthcheck.core.records import Outcome, Verdict
from tests.extensions.runner.replaying import NAMES, plain, report, results, seen

NPU_CHECKS = {
    "npu-smi", "health", "driver", "supported", "cann", "stack", "torch-npu", "compute", "memory", "busy", "hccl",
    "visible-devices", "container",
}  # fmt: skip
NOTHING = {}
LATER = {
    "affinity",
    "custom-ops",
    "ecc",
    "hccl-pairs",
    "host-memory",
    "links",
    "stray-triton",
    "soak",
    "baseline",
}
"""Checks that are younger than these recordings, which have no answers for most of them: see test_deeper.py."""
# By machine: the verdict, what failed and what warned with words of its findings, and what was skipped.
EXPECTED = {
    "healthy-910b3-x8": (Verdict.READY, NOTHING, NOTHING, {"container"}),
    "one-910b4-in-a-container": (Verdict.READY, NOTHING, NOTHING, {"hccl"}),
    "a3-16-dies": (Verdict.READY, NOTHING, NOTHING, {"container"}),
    "310p-duo": (Verdict.READY, NOTHING, NOTHING, {"container"}),
    "950-with-warnings": (Verdict.READY, NOTHING, {"health": "NPU 7 chip 0 (Ascend950DT): Warning"}, {"container"}),
    "driver-upgraded-without-restart": (
        Verdict.NOT_READY,
        {
            "npu-smi": "restart the machine: its driver was installed after its last start",
            "driver": "driver 25.5.2 installed after the machine's last start; npu-smi ends with -8005",
            "torch-npu": "drvRetCode=87",
        },
        NOTHING,
        {"health", "compute", "busy", "hccl", "container", "memory", "supported"},
    ),
    "card-held-by-another-container": (
        Verdict.NOT_READY,
        {"npu-smi": "the card is held by another container", "torch-npu": "drvRetCode=87"},
        NOTHING,
        {"health", "compute", "busy", "hccl", "memory", "supported"},
    ),
    "not-sourced": (Verdict.READY, NOTHING, {"cann": "source /usr/local/Ascend/ascend-toolkit/set_env.sh"}, {"container"}),
    "mismatched-torch-npu": (
        Verdict.NOT_READY,
        {"stack": "torch-npu 2.8.0.post2 → install torch 2.9.0", "torch-npu": "undefined symbol"},
        NOTHING,
        {"compute", "hccl", "container"},
    ),
    "hbm-taken-by-a-stale-process": (
        Verdict.NOT_READY,
        {"memory": "device 1: 5.6 of 61.0 GiB; held by process 2394858 (VLLMEngineCor) with 56313 MB → end it: kill 2394858"},
        {"busy": "NPU 1 chip 0: process 2394858 (VLLMEngineCor)"},
        {"container"},
    ),
    "no-npu": (Verdict.NOT_READY, {"device-nodes": "this machine has no Ascend NPU"}, NOTHING, NPU_CHECKS),
    "gpu-machine": (Verdict.NOT_READY, {"device-nodes": "it has GPUs (/dev/nvidia0, /dev/nvidia1)"}, NOTHING, NPU_CHECKS),
    "npu-smi-9005-torch-works": (
        Verdict.READY,
        NOTHING,
        {"npu-smi": "says nothing about the NPU itself", "device-nodes": "no /dev/devmm_svm"},
        {"health", "busy", "hccl"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_machine(name):
    verdict, failed, warned, skipped = EXPECTED[name]
    found = report(plain(name))
    by_outcome = {outcome: {} for outcome in Outcome}
    younger = [result for result in found.results if result.id.removeprefix("runner/") in LATER]
    assert {result.outcome for result in younger} <= {Outcome.PASS, Outcome.SKIP}
    for result in found.results:
        if result not in younger:
            by_outcome[result.outcome][result.id.removeprefix("runner/")] = seen(result)
    assert by_outcome[Outcome.FAIL].keys() == failed.keys()
    assert by_outcome[Outcome.WARN].keys() == warned.keys()
    assert by_outcome[Outcome.SKIP].keys() == skipped
    assert not by_outcome[Outcome.ERROR]
    for outcome, words in ((Outcome.FAIL, failed), (Outcome.WARN, warned)):
        for check, text in words.items():
            assert text in by_outcome[outcome][check]
    assert found.verdict is verdict
    assert all(result.settled for result in found.results)


def test_every_machine_is_expected():
    assert set(NAMES) == EXPECTED.keys()


def test_a_machine_without_npu_may_be_meant():
    found = report(plain("no-npu"), allow_none=True)
    assert found.verdict is Verdict.READY
    assert found.asked == "runner, without NPUs"
    skipped = {
        result.id.removeprefix("runner/")
        for result in found.results
        if result.outcome is Outcome.SKIP
    }
    assert skipped == NPU_CHECKS | {"device-nodes"} | LATER


def test_a_broken_npu_is_none_that_may_be_missing():
    assert (
        report(plain("card-held-by-another-container"), allow_none=True).verdict
        is Verdict.NOT_READY
    )


@pytest.mark.parametrize(
    ("npus", "verdict"), [(4, Verdict.READY), (8, Verdict.READY), (16, Verdict.NOT_READY)]
)
def test_as_many_npus_as_are_asked_for(npus, verdict):
    assert report(plain("healthy-910b3-x8"), npus=npus).verdict is verdict


def test_what_a_machine_has_is_noted():
    found = results(plain("a3-16-dies"))
    assert "16 × Ascend910" in seen(found["runner/npu-smi"])
    assert "CANN 9.1.0, ATB 9.1.0" in seen(found["runner/cann"])
    assert "vllm-ascend 0.23.0 (nearest)" in seen(found["runner/stack"])
    assert "--dtype float16" in seen(results(plain("310p-duo"))["runner/compute"])
    assert "419 MB/s, so 100 GB take 4.0 min" in seen(
        results(plain("one-910b4-in-a-container"))["runner/disk"]
    )
