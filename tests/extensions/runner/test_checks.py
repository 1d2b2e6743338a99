"""Each check on machines with one thing changed."""

from __future__ import annotations

import json

import pytest

from healthcheck.core.records import Outcome
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.checks import CHECKS
from healthcheck.extensions.runner.snapshot import Snapshot
from tests.extensions.runner import test_deeper
from tests.extensions.runner.answers import complete
from tests.extensions.runner.replaying import changed, edit, plain, results, seen
from tests.machine.tables import LAYOUTS, Row, info

HOST, CONTAINER = "healthy-910b3-x8", "one-910b4-in-a-container"
FAIL, WARN, PASS, SKIP = Outcome.FAIL, Outcome.WARN, Outcome.PASS, Outcome.SKIP
SMI = "commands|npu-smi info|stdout"
PROBE = "children|torch_probe|stdout"


def without_torch(machine):
    """The package is there, but nothing of the trial was recorded."""
    machine["children"].pop("torch_probe")


def only(machine, lines):
    machine["children"]["torch_probe"]["stdout"] = lines


def failing_torch(machine):
    edit(machine, PROBE, '"wrong": 0', '"wrong": 7')


def npu_smi(text="", *, status=1):
    def change(machine):
        machine["commands"]["npu-smi info"] = {
            "status": status,
            "stdout": [],
            "stderr": text.split("\n"),
        }

    return change


def both(*changes):
    def change(machine):
        for one in changes:
            one(machine)

    return change


def set_(name, value):
    return lambda machine: machine["variables"].update({name: value})


def at(place, value):
    *path, last = place.split("|")

    def change(machine):
        for key in path:
            machine = machine[key]
        machine[last] = value

    return change


def node(machine, **fields):
    machine["paths"]["/dev/davinci[0-9]*"][0].update(fields)


def versions(driver, cann):
    """Another driver on the host, and another CANN in the image."""

    def change(machine):
        edit(machine, SMI, "25.5.1", driver)
        machine["files"]["/usr/local/Ascend/driver/version.info"] = [f"Version={driver}"]
        toolkit = (
            "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
        )
        machine["files"][toolkit] = [
            "package_name=Ascend-cann-toolkit",
            f"version={cann}",
            "arch=aarch64",
        ]

    return change


CASES = [
    # device nodes
    (HOST, lambda m: node(m, readable=False, writable=False), "device-nodes", WARN, "usermod -a -G HwHiAiUser"),
    (HOST, both(failing_torch, lambda m: node(m, writable=False)), "device-nodes", FAIL, "with mode 660"),
    (HOST, at("paths|/dev/hisi_hdc", []), "device-nodes", WARN, "no /dev/hisi_hdc"),
    (CONTAINER, both(without_torch, at("paths|/dev/davinci_manager", [])), "device-nodes", FAIL, "--device /dev/davinci_manager"),
    (CONTAINER, both(without_torch, at("paths|/dev/davinci[0-9]*", [])), "device-nodes", FAIL, "start the container with"),
    # npu-smi: texts and statuses, and the proof above it
    (HOST, npu_smi("dcmi module initialize failed. ret is -8005"), "npu-smi", WARN, "-8005"),
    (HOST, both(failing_torch, npu_smi("dcmi module initialize failed. ret is -8005")), "npu-smi", FAIL, "HwHiAiUser"),
    (HOST, both(failing_torch, npu_smi("… ret is -8005"), lambda m: node(m, writable=False)), "npu-smi", FAIL, "usermod"),
    (HOST, both(failing_torch, npu_smi("… ret is -9005", status=0)), "npu-smi", WARN, "says nothing about the NPU"),
    (HOST, both(failing_torch, npu_smi("… ret is -8008")), "npu-smi", FAIL, "ret is -8008"),
    (HOST, both(failing_torch, npu_smi("Segmentation fault", status=-11)), "npu-smi", FAIL, "exit status -11"),
    (HOST, both(failing_torch, npu_smi("a new layout", status=0)), "npu-smi", SKIP, "'a new layout'"),
    (HOST, npu_smi("a new layout", status=0), "npu-smi", WARN, "'a new layout'"),
    (HOST, at("commands|npu-smi info|status", 3), "npu-smi", WARN, "beside a table"),
    (HOST, both(failing_torch, at("commands|npu-smi info", {"trouble": "no such program"})), "npu-smi", FAIL, "not installed"),
    (HOST, both(failing_torch, at("commands|npu-smi info", {"trouble": "no end within 20 s"})), "npu-smi", FAIL, "no end within 20 s"),
    # the driver
    (HOST, at("files|/usr/local/Ascend/driver/version.info", ["Version=25.5.2"]), "driver", WARN, "25.5.1 answers"),
    (HOST, both(failing_torch, at("files|/usr/local/Ascend/driver/version.info", ["Version=25.5.2"])), "driver", FAIL, "restart the machine"),
    (HOST, at("files|/usr/local/Ascend/driver/version.info", ["Version=7.35.23", "package_version=25.5.1"]), "driver", PASS, "driver 25.5.1"),
    (HOST, at("files|/usr/local/Ascend/driver/version.info", ["Version=7.35.23"]), "driver", PASS, "driver 25.5.1"),
    (HOST, at("files|/usr/local/Ascend/driver/version.info", None), "driver", PASS, "driver 25.5.1"),
    (HOST, lambda m: edit(m, "commands|npu-smi info -t board -i 3|stdout", ": OK", ": NOK"), "driver", WARN, "NPU 3: Compatibility NOK"),
    (HOST, versions("25.0.rc1.1", "9.1.0"), "driver", WARN, "driver 25.0.rc1.1, which this CANN does not support"),
    (HOST, versions("24.1.0.3", "9.0.0"), "driver", WARN, "driver 24.1.0.3"),
    (HOST, versions("25.2.0", "9.1.0"), "driver", PASS, "driver 25.2.0"),
    (HOST, versions("25.0.rc1.1", "9.0.0"), "driver", PASS, "driver 25.0.rc1.1"),
    (HOST, versions("24.1.0", "8.2.RC1"), "driver", PASS, "driver 24.1.0"),
    # kinds
    (HOST, both(at("children|torch_probe", {}), at(SMI, info("910B", [Row(name="910ProB")]).split("\n"))), "supported", WARN, "910ProB"),
    (HOST, both(at("children|torch_probe", {}), at(SMI, info("910B", [Row(name="xxx")]).split("\n"))), "supported", SKIP, "not known"),
    # CANN
    (HOST, set_("ASCEND_HOME_PATH", "/opt/gone"), "cann", WARN, "/opt/gone is not there"),
    (HOST, at("files|/usr/local/Ascend/nnal/atb/latest/version.info", None), "cann", WARN, "NNAL"),
    (HOST, both(set_("ATB_HOME_PATH", None), set_("LD_LIBRARY_PATH", None)), "cann", WARN, "nnal/atb/set_env.sh"),
    # Python and versions
    (HOST, at("children|versions", {"trouble": "no such program"}), "python", FAIL, "no such program"),
    (HOST, lambda m: edit(m, "children|versions|stdout", "3.11.10", "3.13.1"), "python", WARN, "3.13.1"),
    (HOST, lambda m: edit(m, "children|versions|stdout", '"4.57.6"', '"4.37.0"'), "stack", WARN, "transformers 4.37.0"),
    (HOST, lambda m: edit(m, "children|versions|stdout", "0.18.0+empty", "0.18.0"), "stack", PASS, "nearest"),
    (HOST, lambda m: edit(m, "children|versions|stdout", "0.18.0+empty", "0.17.0+empty"), "stack", WARN, "vllm 0.17.0+empty"),
    (HOST, lambda m: edit(m, "children|versions|stdout", "2.9.0.post1+git4c901a4", "2.8.0"), "stack", WARN, "torch-npu 2.8.0"),
    # torch_npu
    (HOST, lambda m: edit(m, "children|versions|stdout", '"torch_npu"', '"other"'), "torch-npu", FAIL, "not installed"),
    (HOST, lambda m: edit(m, PROBE, '"count": 8', '"count": 0'), "torch-npu", FAIL, "counts none"),
    (HOST, lambda m: edit(m, PROBE, '"count": 8', '"count": 7'), "torch-npu", WARN, "torch_npu counts 7"),
    (HOST, lambda m: only(m, []), "torch-npu", FAIL, "versions must belong together"),
    # chips that are sick or taken
    (HOST, at(SMI, info("910B", [Row(health="Critical")]).split("\n")), "health", FAIL, "Critical"),
    (HOST, at(SMI, info("910B", [Row(used=60000)], [(0, 0, 77, "w", 55000)]).split("\n")), "busy", WARN, "process 77 (w)"),
    # computing
    (HOST, failing_torch, "compute", FAIL, "device 0: 7 of 4096 elements differ in float16"),
    (HOST, both(at("children|torch_probe|trouble", "no end within 300 s"), lambda m: m["children"]["torch_probe"]["stdout"].pop()), "compute", FAIL, "no end within 300 s"),
    (HOST, at("children|torch_probe|status", -11), "compute", WARN, "status -11, at end"),
    (HOST, both(at("children|torch_probe|status", -11), lambda m: m["children"]["torch_probe"]["stdout"].pop()), "compute", FAIL, "status -11, at the product on device 7"),
    (HOST, lambda m: m["children"]["torch_probe"]["stdout"].append('@npu-adapter {"step": "error", "at": "bfloat16", "text": "AttributeError: x"}'), "compute", WARN, "AttributeError"),
    (HOST, lambda m: m["children"]["torch_probe"]["stdout"].append('@npu-adapter {"step": "error", "at": "a", "during": "set device", "device": 1, "text": "EZ9999"}'), "compute", FAIL, "EZ9999"),
    (HOST, lambda m: m["children"]["torch_probe"]["stdout"].append('@npu-adapter {"step": "error", "at": "product", "during": "name", "device": 1, "text": "EZ9999"}'), "compute", WARN, "EZ9999"),
    (HOST, lambda m: only(m, m["children"]["torch_probe"]["stdout"][:10]), "compute", SKIP, "without a result for 7 of 8 devices"),
    # memory, with torch and without
    (HOST, lambda m: edit(m, PROBE, '"free_bytes": 64', '"free_bytes": 9'), "memory", FAIL, "device 7"),
    (HOST, both(without_torch, at(SMI, info("910B", [Row(used=61125)]).split("\n"))), "memory", FAIL, "61125 of 65536 MB used; by whom npu-smi does not say"),
    (HOST, both(without_torch, at(SMI, info("910B", [Row(used=2922, total=32768)]).split("\n"))), "memory", PASS, ""),
    (HOST, both(without_torch, at(SMI, info("950", [Row(used=90000, total=98304)], [(0, 0, 77, "w", 85000)]).split("\n"))), "memory", FAIL, "kill 77"),
    # HCCL
    (HOST, lambda m: edit(m, "children|hccl_probe 8|stdout", '"rank": 3, "right": true', '"rank": 3, "right": false'), "hccl", FAIL, "device 3 got another"),
    (HOST, at("children|hccl_probe 8", {"status": None, "trouble": "no end within 240 s"}), "hccl", FAIL, "no end within 240 s"),
    # the host
    (HOST, at("spaces|.", {"total_bytes": 10**12, "free_bytes": 50 * 10**9}), "disk", WARN, "50 GB free"),
    (HOST, at("read_speeds|.", {"read_bytes": 5 * 10**7, "seconds": 0.5, "of": "x"}), "disk", WARN, "16.7 min"),
    (HOST, set_("MODEL_PATH", "/gone"), "disk", WARN, "/gone is not there"),
    (HOST, at("spaces|/dev/shm", {"total_bytes": 64 * 2**20, "free_bytes": 64 * 2**20}), "shm", WARN, "--shm-size=1g"),
    (HOST, at("spaces|/dev/shm", None), "shm", WARN, "no /dev/shm"),
    (CONTAINER, at("spaces|/dev/shm", {"total_bytes": 10**9, "free_bytes": 10**9}), "shm", PASS, ""),
    (HOST, at("ports|8000", [{"address": "0.0.0.0", "port": 8000, "process": {"pid": 42, "command": "vllm serve"}}]), "port", FAIL, "kill 42"),
    (HOST, at("ports|8000", [{"address": "::", "port": 8000}]), "port", FAIL, "may not see"),
    # the variables that choose devices
    (HOST, set_("ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"), "visible-devices", PASS, ""),
    (HOST, set_("ASCEND_RT_VISIBLE_DEVICES", "1,0"), "visible-devices", FAIL, "not in ascending order"),
    (HOST, set_("ASCEND_RT_VISIBLE_DEVICES", "1,1"), "visible-devices", FAIL, "not in ascending order"),
    (HOST, set_("ASCEND_RT_VISIBLE_DEVICES", "7,8"), "visible-devices", FAIL, "so no 8"),
    (HOST, set_("ASCEND_RT_VISIBLE_DEVICES", ""), "visible-devices", WARN, "hide every device"),
    (HOST, set_("ASCEND_RT_VISIBLE_DEVICES", "0-3"), "visible-devices", WARN, "not a list of numbers"),
    (CONTAINER, set_("ASCEND_RT_VISIBLE_DEVICES", "5"), "visible-devices", WARN, "there are 1 devices, so no 5"),
    (HOST, set_("CUDA_VISIBLE_DEVICES", "0"), "visible-devices", WARN, "has no effect"),
    # the container's flags
    (CONTAINER, at("paths|/usr/local/dcmi", []), "container", PASS, "-v /usr/local/dcmi"),
    (CONTAINER, both(without_torch, at("paths|/usr/local/dcmi", [])), "container", WARN, "-v /usr/local/dcmi"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "check", "outcome", "words"), CASES)
def test_one_thing_changed(name, change, check, outcome, words):
    result = changed(name, change)[f"runner/{check}"]
    assert result.outcome is outcome, seen(result)
    assert words in seen(result)


def test_each_check_fires_in_a_case_and_passes_on_a_healthy_machine():
    deeper = ((check, outcome) for _, check, outcome, _ in test_deeper.CASES)
    cases = (*((check, outcome) for _, _, check, outcome, _ in CASES), *deeper)
    fired = {f"runner/{check}" for check, outcome in cases if outcome in {FAIL, WARN}}
    healthy = (
        results(machine, depth=Depth.SOAK, earlier=Snapshot())
        for machine in (plain(HOST), plain(CONTAINER), complete())
    )
    passed = {id_ for found in healthy for id_, result in found.items() if result.outcome is PASS}
    assert fired == passed == {check.id for check in CHECKS}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("ImportError: libascend_hal.so: cannot open shared object file", "driver/lib64"),
        ("ImportError: libhccl.so: cannot open shared object file", "ascend-toolkit/set_env.sh"),
        ("ImportError: libatb.so: cannot open", "nnal/atb/set_env.sh"),
        ("ModuleNotFoundError: No module named 'yaml'", "install what is missing"),
        ("OSError: something new", "runner/cann and runner/stack"),
    ],
)
def test_an_import_that_fails_names_its_repair(error, words):
    step = "@npu-adapter " + json.dumps({"step": "error", "at": "import torch_npu", "text": error})
    result = changed(HOST, lambda machine: only(machine, [step]))["runner/torch-npu"]
    assert result.outcome is FAIL
    assert error in seen(result)
    assert words in seen(result)


def test_an_import_without_end_settles_nothing():
    def change(machine):
        machine["children"]["torch_probe"] |= {
            "stdout": [],
            "status": None,
            "trouble": "no end within 300 s",
        }

    result = changed(HOST, change)["runner/torch-npu"]
    assert result.outcome is SKIP
    assert not result.settled


def test_ranks_that_write_on_one_line_are_all_heard():
    def change(machine):
        machine["children"]["hccl_probe 8"]["stdout"] = [
            "".join(machine["children"]["hccl_probe 8"]["stdout"])
        ]

    assert changed(HOST, change)["runner/hccl"].outcome is PASS


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("health", "outcome"),
    [
        ("OK", PASS),
        ("Warning", WARN),
        ("Alarm", FAIL),
        ("Critical", FAIL),
        ("UNKNOWN", FAIL),
        ("Odd", WARN),
        ("NA", WARN),
        ("ok", PASS),
    ],
)
def test_health_in_every_layout(layout, health, outcome):
    rows = [Row(npu=0), Row(npu=1, health=health)]
    result = changed(HOST, at(SMI, info(layout, rows).split("\n")))["runner/health"]
    assert result.outcome is outcome


@pytest.mark.parametrize("wanted", [{"npus": 1}, {}])
def test_a_sick_chip_that_is_not_used_is_only_mentioned(wanted):
    def change(machine):
        machine["commands"]["npu-smi info"]["stdout"] = info(
            "910B", [Row(npu=0), Row(npu=1, health="Critical")]
        ).split("\n")
        machine["variables"] |= {} if wanted else {"ASCEND_RT_VISIBLE_DEVICES": "0"}

    result = changed(HOST, change, **wanted)["runner/health"]
    assert result.outcome is PASS
    assert "NPU 1 chip 0 (910B3): Critical; it will not be used" in seen(result)


def test_a_row_that_was_asked_for_is_binding():
    found = results(plain(HOST), stack="0.23.0")
    assert found["runner/stack"].outcome is FAIL
    assert "CANN 8.5.1 → install CANN 9.1.0" in seen(found["runner/stack"])
    assert "nearest: vllm-ascend 0.18.0" in seen(found["runner/stack"])
    assert results(plain(HOST), stack="v0.18.0")["runner/stack"].outcome is PASS


def test_an_npu_on_the_bus_without_a_driver_is_no_missing_npu():
    machine = plain("no-npu")
    machine["files"]["/proc/bus/pci/devices"] = ["c100\t19e5d802\t0"]
    found = results(machine, allow_none=True)
    assert "no driver, but an NPU on the PCI bus (19e5:d802)" in seen(found["runner/driver"])
    assert found["runner/device-nodes"].outcome is FAIL
    assert found["runner/driver"].outcome is FAIL


def test_processes_are_asked_for_chip_by_chip_where_the_table_has_none():
    def change(machine):
        lines = info("910B", [Row(npu=0, used=60000)]).split("\n")
        machine["commands"]["npu-smi info"]["stdout"] = [
            line for line in lines if "rocess" not in line
        ]
        said = ["Process id:207795  Process name:VLLMEngineCor     Process memory(MB):55436"]
        machine["commands"]["npu-smi info -t proc-mem -i 0 -c 0"] = {"status": 0, "stdout": said}

    result = changed(HOST, change)["runner/busy"]
    assert result.outcome is WARN
    assert "process 207795 (VLLMEngineCor) with 55436 MB" in seen(result)
