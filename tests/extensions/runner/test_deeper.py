"""Each check of the three levels that asks more than the driver, on machines with one thing changed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.extensions.runner import children
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.checks import CHECKS
from healthcheck.extensions.runner.examining import judge
from healthcheck.extensions.runner.records import Wanted
from healthcheck.extensions.runner.snapshot import Snapshot
from tests.extensions.runner import answers
from tests.extensions.runner.answers import SOAK, complete, counters, said, step
from tests.extensions.runner.replaying import RecordedMachine, edit, recorded, report, results, seen

FAIL, WARN, PASS, SKIP = Outcome.FAIL, Outcome.WARN, Outcome.PASS, Outcome.SKIP
RECORDED = Snapshot(
    at="2026-11-01",
    facts={"driver": "25.5.1", "processors": "192"},
    counters={"HBM Double Bit Error Count of NPU 0 chip 0": 0},
)


def at(place, value):
    *path, last = place.split("|")

    def change(machine):
        for key in path:
            machine = machine[key]
        machine[last] = value

    return change


def without(place):
    *path, last = place.split("|")

    def change(machine):
        for key in path:
            machine = machine[key]
        del machine[last]

    return change


def both(*changes):
    def change(machine):
        for one in changes:
            one(machine)

    return change


def replaced(place, old, new):
    return lambda machine: edit(machine, place, old, new)


def links(text):
    return lambda machine: [
        machine["commands"].update({f"hccn_tool -i {npu} -link -g": said(text)}) for npu in range(8)
    ]


def without_net_health(machine):
    for npu in range(8):
        del machine["commands"][f"hccn_tool -i {npu} -net_health -g"]


CASES = [
    # error counters
    (at("commands|npu-smi info -t ecc -i 3", counters(3, HBM_Double_Bit_Error_Count=2)), "ecc", WARN, "NPU 3 chip 0: HBM Double Bit Error Count 2"),
    (at("commands|npu-smi info -t ecc -i 3", counters(3, HBM_Single_Bit_Error_Count=2)), "ecc", PASS, "2 corrected"),
    (at("commands|npu-smi info -t ecc -i 3", said("        Single-bit Error Count : 0", "        Double-bit Error Count : 7")), "ecc", WARN, "Double-bit Error Count 7"),
    (lambda m: [m["commands"].update({f"npu-smi info -t ecc -i {n}": said("This device does not support querying ecc.", status=1)}) for n in range(8)], "ecc", SKIP, "no counters"),
    # links
    (at("commands|hccn_tool -i 3 -link -g", said("link status: DOWN")), "links", WARN, "device 3: DOWN"),
    (links("link status: DOWN"), "links", PASS, "a single machine does not need them"),
    (at("commands|hccn_tool -i 3 -net_health -g", said("net health status: Receive timeout")), "links", WARN, "Receive timeout"),
    (at("commands|hccn_tool -i 3 -net_health -g", said("net health status: Init")), "links", PASS, "device 3"),
    (at("commands|hccn_tool -i 0 -link -g", {"trouble": "no such program"}), "links", SKIP, "not installed"),
    (at("commands|hccn_tool -i 0 -link -g", {"trouble": "no end within 20 s"}), "links", SKIP, "hccn_tool: no end within 20 s"),
    (both(links("[ERROR] permission denied"), without_net_health), "links", SKIP, "permission denied"),
    # memory of the host
    (at("files|/sys/fs/cgroup/user.slice/memory.max", ["34359738368"]), "host-memory", WARN, "32.0 GiB, the limit of the control group"),
    (at("files|/sys/fs/cgroup/memory/memory.limit_in_bytes", ["34359738368"]), "host-memory", WARN, "32.0 GiB"),
    (at("files|/sys/fs/cgroup/memory/memory.limit_in_bytes", ["9223372036854771712"]), "host-memory", PASS, "2016 GiB"),
    (at("files|/proc/meminfo", ["MemTotal:       33554432 kB"]), "host-memory", WARN, "32.0 GiB in the machine"),
    (at("files|/proc/meminfo", ["MemTotal: many"]), "host-memory", SKIP, "does not say how much"),
    # packages
    (replaced("children|versions|stdout", '"numpy"', '"triton": "3.2.0", "numpy"'), "stray-triton", WARN, "pip uninstall -y triton; pip install --force-reinstall --no-deps triton-ascend==3.2.0"),
    (replaced("children|versions|stdout", '"triton_ascend"', '"triton"'), "stray-triton", WARN, "triton 3.2.0 → pip uninstall -y triton"),
    (both(replaced("children|versions|stdout", '"triton_ascend"', '"other"'), replaced("children|versions|stdout", '"vllm_ascend"', '"others"')), "stray-triton", SKIP, "neither"),
    (at("children|operators_probe", said(step("error", at="import vllm_ascend.vllm_ascend_C", during="import", text="ImportError: undefined symbol: _ZN3c10"))), "custom-ops", WARN, "undefined symbol"),
    (at("children|operators_probe", {"trouble": "no end within 300 s"}), "custom-ops", WARN, "no end within 300 s"),
    (replaced("children|versions|stdout", '"vllm_ascend"', '"others"'), "custom-ops", SKIP, "vllm-ascend is not installed"),
    # processors
    (at("files|/proc/self/status", ["Cpus_allowed_list:\t0-63"]), "affinity", WARN, "none for NPU0, NPU1, NPU2, NPU3"),
    (at("files|/proc/self/status", ["Cpus_allowed_list:\t0,48,96,144"]), "affinity", WARN, "processors: 4; devices: 8"),
    (both(at("files|/proc/self/status", ["Cpus_allowed_list:\t0-63"]), at("commands|uname -m", said("x86_64"))), "affinity", PASS, "only binds workers on ARM"),
    (at("commands|npu-smi info -t topo", said("Error parameter of -t", status=1)), "affinity", PASS, "nothing was compared"),
    (at("files|/proc/self/status", ["Cpus_allowed_list:\t5-1"]), "affinity", SKIP, "does not list the processors"),
    # pairs
    (at("children|pairs_probe 8", answers.pairs(answers.pair_steps(3, 5, wrong=3))), "hccl-pairs", FAIL, "devices 3 and 5: device 3 got another"),
    (at("children|pairs_probe 8", answers.pairs(answers.pair_steps(3, 5, seconds=0.01))), "hccl-pairs", WARN, "devices 3 and 5: 1.68 GB/s"),
    (at("children|pairs_probe 8", answers.pairs([])), "hccl-pairs", SKIP, "27; the program ended with status 0"),
    (at("children|pairs_probe 8", said(step("error", at="rank 3 with 3 and 5", during="all-reduce", device=3, text="EI0006: socket times out"), status=1)), "hccl-pairs", FAIL, "EI0006"),
    (at("children|pairs_probe 8", {"trouble": "no end within 420 s"}), "hccl-pairs", SKIP, "no end within 420 s"),
    (without("children|hccl_probe 8"), "hccl-pairs", SKIP, "over which HCCL works"),
    # the soak
    (at(f"children|{SOAK}", answers.soak(wrong=12)), "soak", FAIL, "device 3: 12 elements differ in 6000000 products, the first within 500 s"),
    (at(f"children|{SOAK}", answers.soak(slow=0.7)), "soak", WARN, "device 3: "),
    (at(f"children|{SOAK}", answers.soak(late=0.7)), "soak", WARN, "TFLOP/s at last"),
    (at(f"children|{SOAK}", answers.soak(celsius=91)), "soak", WARN, "91 °C after 100 s"),
    (at("commands|npu-smi info -t ecc -i 3", [counters(3), counters(3, HBM_Single_Bit_Error_Count=9)]), "soak", WARN, "NPU 3 chip 0: 9"),
    (lambda m: m["children"][SOAK]["stdout"].insert(5, step("error", at="device 2", during="product", device=2, text="507015 AICORE")), "soak", FAIL, "507015"),
    (lambda m: m["children"][SOAK].update(status=None, trouble="no end within 1600 s", stdout=m["children"][SOAK]["stdout"][:50]), "soak", FAIL, "device 7 stopped after 500 s: no end within 1600 s"),
    (lambda m: m["children"][SOAK].update(stdout=[line for line in m["children"][SOAK]["stdout"] if '"index": 3' not in line]), "soak", FAIL, "device 3 stopped after 0 s: its process ended"),
    (replaced("children|torch_probe|stdout", '"wrong": 0', '"wrong": 7'), "soak", SKIP, "it takes devices that compute right"),
    # what changed
    (replaced("commands|npu-smi info|stdout", "Version: 25.5.1", "Version: 25.5.2"), "baseline", PASS, "values compared with the record of 2026-11-01"),
    (both(replaced("files|/usr/local/Ascend/driver/version.info", "Version=25.5.1", "Version=25.5.0")), "baseline", WARN, "25.5.0"),
    (at("commands|npu-smi info -t ecc -i 0", counters(0, HBM_Double_Bit_Error_Count=1)), "baseline", WARN, "1 → undo"),
    (at("files|/proc/self/status", ["Cpus_allowed_list:\t0-23,48-71"]), "baseline", WARN, "48 → undo"),
    (at("files|/proc/self/status", ["Cpus_allowed_list:\t5-1"]), "baseline", PASS, "2 values compared"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "check", "outcome", "words"), CASES)
def test_one_thing_changed(change, check, outcome, words):
    machine = complete()
    change(machine)
    result = results(machine, depth=Depth.SOAK, earlier=RECORDED)[f"runner/{check}"]
    assert result.outcome is outcome, seen(result)
    assert words in seen(result)


def test_a_machine_without_a_fault_is_ready_at_every_level():
    for depth in Depth:
        found = report(complete(), depth=depth, earlier=RECORDED)
        assert not [
            seen(result)
            for result in found.results
            if result.outcome in {FAIL, WARN, Outcome.ERROR}
        ]
        assert found.verdict.value == "ready"
        assert len(found.results) == len(CHECKS)


def test_each_level_adds_checks():
    skipped = [
        {
            result.id
            for result in report(complete(), depth=depth).results
            if "--level" in result.because
        }
        for depth in Depth
    ]
    assert skipped[0] > skipped[1] == {"runner/hccl-pairs", "runner/soak"} > skipped[2]
    assert {"runner/compute", "runner/hccl"} <= skipped[0]


def test_the_first_level_leaves_open_what_a_computation_would_settle():
    machine = complete()
    machine["paths"]["/dev/hisi_hdc"] = []
    first, second = (results(machine, depth=depth)["runner/device-nodes"] for depth in (1, 2))
    assert (first.outcome, first.settled) == (SKIP, False)
    assert second.outcome is WARN


@pytest.mark.parametrize(("part_s", "outcome"), [(0.5, PASS), (1.0, WARN)])
def test_a_soak_of_less_than_ten_seconds_compares_no_speeds(part_s, outcome):
    machine = complete()
    machine["children"][SOAK.replace("1200", f"{12 * part_s:g}")] = answers.soak(
        slow=0.7, part_s=part_s
    )
    found = results(machine, depth=Depth.SOAK, soak_s=12 * part_s)["runner/soak"]
    assert found.outcome is outcome


@dataclass(frozen=True, kw_only=True)
class Interrupted(RecordedMachine):
    """Ctrl-C comes while this program runs."""

    child: object = None

    def python(self, child, *arguments, **options):
        if child is self.child:
            raise KeyboardInterrupt
        return super().python(child, *arguments, **options)


@pytest.mark.parametrize(
    ("child", "known", "lost"),
    [
        (
            children.TORCH,
            {"npu-smi", "ecc"},
            {"torch-npu", "compute", "hccl", "hccl-pairs", "soak"},
        ),
        (children.PAIRS, {"npu-smi", "torch-npu", "compute", "hccl"}, {"hccl-pairs", "soak"}),
        (children.OPERATORS, {"npu-smi", "torch-npu", "compute"}, {"custom-ops", "hccl", "soak"}),
        (children.SOAK, {"compute", "hccl", "hccl-pairs"}, {"soak"}),
    ],
)
def test_ctrl_c_keeps_what_was_tried_before_it(child, known, lost):
    found = judge(
        Interrupted(**vars(recorded(complete())), child=child), Wanted(depth=Depth.SOAK), Silent()
    )
    by_id = {result.id.removeprefix("runner/"): result for result in found.results}
    assert {by_id[name].outcome for name in known} == {PASS}
    assert {by_id[name].because for name in lost} == {"interrupted"}
    assert (found.verdict.value, found.stopped) == ("inconclusive", "interrupted")


def test_a_310p_has_no_network_port():
    machine = complete("310p-duo")
    assert "no network port" in results(machine)["runner/links"].because
