"""Machines and outputs in forms that no recording has: what they mean was written down before they were run."""

from __future__ import annotations

import json

import pytest

from healthcheck.ascend.hardware import find
from healthcheck.core.records import Outcome, Verdict
from healthcheck.machine import npu_smi
from tests.extensions.runner.replaying import plain, report, seen
from tests.machine.tables import LAYOUTS, Row, info

HOST, CONTAINER = "healthy-910b3-x8", "one-910b4-in-a-container"
READY, NOT_READY, INCONCLUSIVE = Verdict.READY, Verdict.NOT_READY, Verdict.INCONCLUSIVE
EIGHT = [Row(npu=npu) for npu in range(8)]


def with_health(health, npu=3):
    return [Row(npu=row.npu, health=health if row.npu == npu else "OK") for row in EIGHT]


def coloured(line):
    return "\x1b[32m" + line.replace(" Critical ", " \x1b[1;31mCritical\x1b[0m ") + "\x1b[0m"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "form",
    [
        lambda line: line + "\r",
        lambda line: "    " + line,
        lambda line: line.replace("  |", "|"),
        lambda line: line.replace("|", "|      ", 1),
        coloured,
    ],
    ids=["CRLF", "indented", "narrower", "wider", "coloured"],
)
def test_a_table_in_another_dress_has_the_same_chips(layout, form):
    text = info(layout, with_health("Critical"))
    dressed = "\n".join(["DrvMngGetConsoleLogLevel failed. (ret=4)", *map(form, text.splitlines())])
    assert npu_smi.parse(dressed).chips == npu_smi.parse(text).chips
    assert npu_smi.parse(dressed).chips[3].health == "Critical"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("health", ["NA", "-", "", "正常", "Minor Alarm", "ok"])
def test_no_word_of_health_loses_a_chip(layout, health):
    chips = npu_smi.parse(info(layout, with_health(health))).chips
    assert [chip.npu for chip in chips] == list(range(8))
    assert chips[3].health == {"NA": "unstated", "-": "unstated", "": "unstated", "ok": "OK"}.get(
        health, health
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_that_ends_within_a_chip_says_so(layout):
    lines = info(layout, EIGHT).splitlines()
    for end in range(9, len(lines)):
        table = npu_smi.parse("\n".join(lines[:end]))
        assert (len(table.chips), table.cut) in {
            (number, cut) for number in range(1, 9) for cut in (0, 1)
        }
        assert table.cut == (lines[end - 1].count("OK") == 1)


@pytest.mark.parametrize(
    "text",
    ["… ret is -8005。", "failed, ret=-8005", "failed.ret is  -8005)", "(ret=4) ret is -8005"],
)
def test_a_code_in_other_words(text):
    assert npu_smi.error_codes(text) == (-8005,)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("910B3-vir10_3c_32g", "910B3"), ("Ascend310P3vir04", "310P3"), ("Ascend950PR_9599", "950PR"),
        ("310", "310"), ("310B4", "310B"), ("Ascend910_9382", "910C"), ("910PremiumA", "910A"), ("xxx", None),
    ],
)  # fmt: skip
def test_a_kind_by_its_other_names(name, kind):
    assert [found.name for found in find(name)][:1] == ([kind] if kind else [])


def smi(*lines, status=0):
    return lambda m: m["commands"].update(
        {"npu-smi info": {"status": status, "stdout": list(lines)}}
    )


def table(rows, layout="910B", *, driver="25.5.1"):
    return smi(*info(layout, rows).replace("25.5.1", driver).splitlines())


def step(**fields):
    return "@npu-adapter " + json.dumps(fields)


IMPORTED = (step(step="imported", module="torch"), step(step="imported", module="torch_npu"))


def device(index, *, wrong=0):
    return (
        step(step="begin", index=index),
        step(
            step="device", index=index, free_bytes=60 * 2**30, total_bytes=61 * 2**30, bfloat16=True
        ),
        *(
            step(step="product", index=index, kind=kind, wrong=wrong, of=4096)
            for kind in ("float16", "bfloat16")
        ),
    )


def devices(number):
    return tuple(line for index in range(number) for line in device(index))


def torch(*lines, count=8, **output):
    said = [*IMPORTED, step(step="count", count=count), *lines]
    return lambda m: m["children"].update({"torch_probe": {"stdout": said, **output}})


def computes(number):
    return torch(*devices(number), step(step="end"), count=number, status=0)


def adds_up(number, *more, status=0):
    said = [*(step(step="reduced", rank=rank, right=True) for rank in range(number)), *more]
    return lambda m: m["children"].update(
        {f"hccl_probe {number}": {"status": status, "stdout": said}}
    )


NO_DEVICE = torch(step(step="end"), count=0, status=0)


def packages(**changes):
    def change(machine):
        said = machine["children"]["versions"]["stdout"]
        step_ = json.loads(said[0].partition(" ")[2])
        step_["packages"] = {k: v for k, v in {**step_["packages"], **changes}.items() if v}
        said[0] = step(**step_)

    return change


def no_torch(machine):
    packages(torch_npu="")(machine)


def nodes(*numbers):
    found = [{"path": f"/dev/davinci{n}"} for n in numbers]
    return lambda m: m["paths"].update({"/dev/davinci[0-9]*": found})


def visible(text):
    return lambda m: m["variables"].update(ASCEND_RT_VISIBLE_DEVICES=text)


def no_smi(machine):
    machine["commands"]["npu-smi info"] = {"trouble": "no such program"}


def no_end(machine):
    machine["commands"]["npu-smi info"] = {"trouble": "no end within 20 s"}


NOT_SHOWN = {"npu-smi", "torch-npu"}
TWO = [Row(npu=4), Row(npu=5)]
HALF = info("910B", EIGHT).splitlines()[: 6 + 3 * 5 + 1]
# By name: the machine, what is changed, what is wanted; the verdict, what fails, what warns (None: not looked at).
CASES = {
    "cut table": (HOST, [smi(*HALF)], {}, READY, set(), {"npu-smi"}),
    "npu-smi shows fewer than torch": (HOST, [table(EIGHT[:3])], {}, READY, set(), {"npu-smi"}),
    "odd health, computed": (HOST, [table(with_health("Degraded"))], {}, READY, set(), {"health"}),
    "odd health, nothing computed": (HOST, [table(with_health("Degraded")), NO_DEVICE], {}, NOT_READY, {"torch-npu"}, None),
    "critical in colour": (HOST, [smi(*map(coloured, info("910B", with_health("Critical")).splitlines()))], {}, NOT_READY,
                           {"health"}, set()),
    "alarm on a hidden chip": (HOST, [table(with_health("Alarm", 0)), visible("1,2"), computes(2), adds_up(2)], {}, READY,
                               set(), set()),
    "alarm on a die": (HOST, [table(with_health("Alarm"), "A3")], {}, NOT_READY, {"health"}, set()),
    "-8005 with status 0": (HOST, [smi("dcmi module initialize failed. ret is -8005"), NO_DEVICE], {}, NOT_READY,
                            NOT_SHOWN, set()),
    "-8005 in Chinese": (HOST, [smi("dcmi 初始化失败 ret is -8005。"), NO_DEVICE], {}, NOT_READY, NOT_SHOWN, set()),
    "-8020, no node": (CONTAINER, [smi("the device is used. ret is -8020"), no_torch, nodes()], {}, NOT_READY,
                       NOT_SHOWN | {"device-nodes"}, None),
    "-9005, one node, computed": (CONTAINER, [smi("npu get board type failed. ret is -9005"), nodes(14)], {}, READY, set(),
                                  {"npu-smi"}),
    "-9005, no torch": (CONTAINER, [smi("npu get board type failed. ret is -9005"), no_torch], {}, NOT_READY,
                        {"torch-npu"}, None),
    "npu-smi without its library": (CONTAINER, [smi("error while loading shared libraries", status=127), no_torch], {},
                                    NOT_READY, NOT_SHOWN, None),
    "npu-smi hangs, computed": (HOST, [no_end], {}, READY, set(), {"npu-smi"}),
    "no npu-smi, computed": (CONTAINER, [no_smi], {}, READY, set(), {"npu-smi"}),
    "no npu-smi, no torch": (CONTAINER, [no_smi, no_torch], {}, NOT_READY, NOT_SHOWN, None),
    "2 of 8 in a container": (CONTAINER, [table(TWO, driver="25.5.2"), nodes(4, 5), computes(2), adds_up(2)], {}, READY,
                              set(), set()),
    "2 of 8, 8 wanted": (CONTAINER, [table(TWO, driver="25.5.2"), nodes(4, 5), computes(2), adds_up(2)], {"npus": 8},
                         NOT_READY, NOT_SHOWN | {"device-nodes"}, None),
    "npu-smi shows the host's": (CONTAINER, [table(EIGHT, driver="25.5.2")], {}, READY, set(), {"torch-npu"}),
    "CPU job on an NPU host": (CONTAINER, [nodes(), no_smi, no_torch], {"allow_none": True}, READY, set(), set()),
    "NPUs not mounted": (CONTAINER, [nodes(), no_smi, no_torch], {}, NOT_READY, NOT_SHOWN | {"device-nodes"}, None),
    "rows mixed": (HOST, [packages(vllm="0.23.0+empty")], {}, READY, set(), {"stack"}),
    "rows mixed, one asked for": (HOST, [packages(vllm="0.23.0+empty")], {"stack": "0.18.0"}, NOT_READY, {"stack"}, set()),
    "no vllm": (HOST, [packages(vllm="", vllm_ascend="")], {}, READY, set(), {"stack"}),
    "vllm without vllm-ascend": (HOST, [packages(vllm_ascend="")], {}, READY, set(), {"stack"}),
    "torch with a local part": (HOST, [packages(torch="2.9.0+cpu")], {}, READY, set(), set()),
    "a version that is none": (HOST, [packages(vllm="unknown")], {}, READY, set(), {"stack"}),
    **{f"visible {text!r}": (HOST, [visible(text), NO_DEVICE], {}, NOT_READY, {"visible-devices", "torch-npu"}, set())
       for text in ("1,0", "0,0", "9", "", "-1", "0-3", "a", "0,,1")},
    "visible with blanks": (HOST, [visible(" 0 ,1"), computes(2), adds_up(2)], {}, READY, set(), set()),
    "visible out of order, computed": (HOST, [visible("1,0"), computes(2), adds_up(2)], {}, READY, set(), {"visible-devices"}),
    "visible, one is not there": (HOST, [visible("0,9"), computes(1)], {}, NOT_READY, {"visible-devices"}, None),
    "hangs on import": (HOST, [lambda m: m["children"].update({"torch_probe": {"trouble": "no end within 300 s"}})], {},
                        INCONCLUSIVE, set(), set()),
    "crashes on import": (HOST, [lambda m: m["children"].update({"torch_probe": {"status": -11}})], {}, NOT_READY,
                          {"torch-npu"}, set()),
    "crashes after the end": (HOST, [torch(*devices(8), step(step="end"), status=-11)], {}, READY, set(), {"compute"}),
    "hangs on a spare": (HOST, [torch(*devices(6), step(step="begin", index=6), trouble="no end"), adds_up(4)], {"npus": 4},
                         READY, set(), {"compute"}),
    "hangs on the last wanted": (HOST, [torch(*device(0)[:3], trouble="no end")], {"npus": 1}, NOT_READY, {"compute"}, None),
    "hangs on one of all": (HOST, [torch(*devices(6), step(step="begin", index=6), trouble="no end")], {}, NOT_READY,
                            {"compute"}, None),
    "wrong on one": (HOST, [torch(*devices(7), *device(7, wrong=1), step(step="end"), status=0)], {}, NOT_READY,
                     {"compute"}, set()),
    "noise before JSON": (HOST, [torch(*(f"[W x] {line}" for line in devices(8)), "[W] @npu-adapter {x", step(step="end"),
                                       status=0)], {}, READY, set(), set()),
    "one rank is lost": (HOST, [adds_up(8), lambda m: m["children"]["hccl_probe 8"]["stdout"].pop()], {}, NOT_READY,
                         {"hccl"}, set()),
    "error after the sum": (HOST, [adds_up(8, step(step="error", at="rank 3", text="EI0006"), status=1)], {}, READY, set(),
                            {"hccl"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_machine_of_another_form(name):
    base, changes, wanted, verdict, failed, warned = CASES[name]
    machine = plain(base)
    machine["commands"].pop("npu-smi info -m", None)
    for change in changes:
        change(machine)
    found = {
        result.id.removeprefix("runner/"): result for result in report(machine, **wanted).results
    }
    said = {
        check: seen(result) for check, result in found.items() if result.outcome is not Outcome.PASS
    }
    assert {check for check, result in found.items() if result.outcome is Outcome.FAIL} == failed, (
        said
    )
    if warned is not None:
        assert {
            check for check, result in found.items() if result.outcome is Outcome.WARN
        } == warned, said
    assert not [check for check, result in found.items() if result.outcome is Outcome.ERROR]
    assert report(machine, **wanted).verdict is verdict


def test_more_chips_in_the_mapping_than_in_the_table_are_told():
    machine = plain(HOST)
    table(EIGHT[:5])(machine)
    no_torch(machine)
    (result,) = (r for r in report(machine).results if r.id == "runner/npu-smi")
    assert "5 chips, but `npu-smi info -m` lists 8" in seen(result)


def test_a_910a_that_npu_smi_calls_910b_is_not_supported():
    machine = plain(HOST)
    machine["children"].pop("torch_probe")
    lines = info("910B", [Row(name="910B", used=18, total=32768)]).replace(
        "0    / 0          18", "2387 / 13553      18"
    )
    machine["commands"]["npu-smi info"]["stdout"] = lines.split("\n")
    result = {one.id: one for one in report(machine).results}["runner/supported"]
    assert result.outcome is Outcome.WARN
    assert "a 910A" in seen(result)
