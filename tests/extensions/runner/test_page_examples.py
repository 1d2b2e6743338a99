"""The page of a runner check shows a machine that it objects to, and the repaired one: both are judged.

What a page shows is put into a recorded machine: the flags of its `docker run`, the output of its commands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from healthcheck.core.records import Outcome
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.snapshot import Snapshot
from healthcheck.verify import catalogue
from tests.extensions.runner.answers import SOAK, complete, said, soak, step
from tests.extensions.runner.replaying import edit, plain, results
from tests.machine.tables import Row, info
from tests.support.page_examples import example, pages

NOT_RUN = {
    "runner/hccl": "its cause is on another machine",
    "runner/hccl-pairs": "its cause is on another machine",
}
PAGES = [page for page in pages("runner") if page.id not in NOT_RUN]
HOST, CONTAINER, COMPLETE = "healthy-910b3-x8", "one-910b4-in-a-container", "answers of every level"
Machine = dict[str, Any]


def flags(text: str) -> list[str]:
    """The words of the page's `docker run`."""
    return shlex.split(text.removeprefix("$ ").replace("\\\n", " "))


def untried(machine: Machine) -> None:
    """Nothing of a trial of torch_npu was recorded: it would outweigh what the page shows."""
    machine["children"].pop("torch_probe", None)


def device_nodes(machine: Machine, text: str) -> None:
    untried(machine)
    for pattern, entries in machine["paths"].items():
        if pattern.startswith("/dev/"):
            machine["paths"][pattern] = [entry for entry in entries if entry["path"] in flags(text)]


def mounts(machine: Machine, text: str) -> None:
    untried(machine)
    mounted = [word.split(":")[0].rstrip("/") for word in flags(text) if word.startswith("/")]
    for pattern in ("/usr/local/dcmi", "/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/version.info",
                    "/etc/ascend_install.info"):  # fmt: skip
        machine["paths"][pattern] = machine["paths"][pattern] if pattern in mounted else []


def shared_memory(machine: Machine, text: str) -> None:
    size = 10**9 if "--shm-size=1g" in flags(text) else 64 * 2**20
    machine["spaces"]["/dev/shm"] = {"total_bytes": size, "free_bytes": size}


def complaint(machine: Machine, text: str) -> None:
    if "-8005" in text:
        untried(machine)
        said = text.splitlines()[1:]
        machine["commands"]["npu-smi info"] = {"status": 1, "stdout": [], "stderr": said}
    else:
        assert text.splitlines()[1] in machine["commands"]["npu-smi info"]["stdout"]


def chips(machine: Machine, text: str) -> None:
    name, health = re.findall(r"\| \d+ +(\w+) +\| (\w+)", text)[0]
    untried(machine)
    assert any(
        re.fullmatch(r"\| 0 +910B3 +\| OK .*", line)
        for line in machine["commands"]["npu-smi info"]["stdout"]
    )
    machine["commands"]["npu-smi info"]["stdout"] = info(
        "910B", [Row(name=name, health=health)]
    ).split("\n")


def holders(machine: Machine, text: str) -> None:
    found = re.findall(r"\| (\d+) +(\d+) +\| (\d+) +\| (\w+) +\| (\d+) +\|", text)
    held = [
        (int(npu), int(chip), int(pid), name, int(memory)) for npu, chip, pid, name, memory in found
    ]
    table = info("910B", [Row(used=60000 if held else 3400)], held).rstrip("\n").split("\n")
    assert text.splitlines()[1:] == table[-2:]
    machine["commands"]["npu-smi info"]["stdout"] = table


def board(machine: Machine, text: str) -> None:
    recorded = machine["commands"]["npu-smi info -t board -i 3"]["stdout"]
    shown = {line.split(":")[0]: line for line in text.splitlines()[1:]}
    assert shown.keys() <= {line.split(":")[0] for line in recorded}
    recorded[:] = [shown.get(line.split(":")[0], line) for line in recorded]


def home(machine: Machine, text: str) -> None:
    value = re.findall(r"(?m)^ASCEND_HOME_PATH=(.*)$", text)[0]
    machine["variables"] |= dict.fromkeys(
        ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"), value or None
    )


def variables(machine: Machine, text: str) -> None:
    machine["variables"].update(dict(re.findall(r"(?m)^export (\w+)=(.*)$", text)))


def python(machine: Machine, text: str) -> None:
    edit(machine, "children|versions|stdout", "3.11.10", re.findall(r"(?m)^Python (.*)$", text)[0])


def packages(machine: Machine, text: str) -> None:
    shown = dict(re.findall(r"(?m)^(vllm|vllm-ascend) +(\S+)$", text))
    edit(machine, "children|versions|stdout", "0.18.0+empty", shown["vllm"])
    edit(
        machine,
        "children|versions|stdout",
        '"vllm_ascend": "0.18.0"',
        f'"vllm_ascend": "{shown["vllm-ascend"]}"',
    )


def printed(old: str, new: str) -> Callable[[Machine, str], None]:
    """Puts the last line of a page's session into what the trial of torch_npu printed."""

    def change(machine: Machine, text: str) -> None:
        last = text.splitlines()[-1]
        edit(machine, "children|torch_probe|stdout", old, new.format(last))

    return change


def product(machine: Machine, text: str) -> None:
    """Device 3 computes wrong. A process counts the devices of ASCEND_RT_VISIBLE_DEVICES from 0."""
    listed = re.findall(r"ASCEND_RT_VISIBLE_DEVICES=([\d,]+)", text)
    machine["variables"]["ASCEND_RT_VISIBLE_DEVICES"] = listed[0] if listed else None
    visible = listed[0].split(",") if listed else list("01234567")
    steps = []
    for line in machine["children"]["torch_probe"]["stdout"]:
        index = re.search(r'"index": (\d)', line)
        if index is None:
            steps.append(line.replace('"count": 8', f'"count": {len(visible)}'))
        elif index[1] in visible:
            renumbered = line.replace(index[0], f'"index": {visible.index(index[1])}')
            steps.append(
                renumbered.replace('"wrong": 0', '"wrong": 7') if index[1] == "3" else renumbered
            )
    machine["children"]["torch_probe"]["stdout"] = steps


def free_memory(machine: Machine, text: str) -> None:
    free, total = re.findall(r"\d+", text.splitlines()[-1])
    old = '"free_bytes": 64961380352, "total_bytes": 65455301591'
    edit(
        machine, "children|torch_probe|stdout", old, f'"free_bytes": {free}, "total_bytes": {total}'
    )


def disk(machine: Machine, text: str) -> None:
    total, free = (int(size) * 10**9 for size in re.findall(r"(\d+)G", text))
    machine["spaces"]["."] = {"total_bytes": total, "free_bytes": free}


def listeners(machine: Machine, text: str) -> None:
    found = re.findall(r'(?m)^LISTEN .*?(\S+):(\d+) .*\(\("(\w+)",pid=(\d+)', text)
    machine["ports"] = {
        "8000": [
            {"address": address, "port": int(port), "process": {"pid": int(pid), "command": name}}
            for address, port, name, pid in found
        ]
    }


def counted(machine: Machine, text: str) -> None:
    machine["commands"]["npu-smi info -t ecc -i 0"] = said(*text.splitlines()[1:])


def triton(machine: Machine, text: str) -> None:
    if re.search(r"(?m)^triton ", text):
        edit(machine, "children|versions|stdout", '"numpy"', '"triton": "3.2.0", "numpy"')


def operators(machine: Machine, text: str) -> None:
    last = text.splitlines()[-1]
    if "Error" in last:
        error = step("error", at="import vllm_ascend.vllm_ascend_C", during="import", text=last)
        machine["children"]["operators_probe"] = said(error)


def first_file(machine: Machine, text: str) -> None:
    """`cat FILE` and its content; the group of the process is that of the file."""
    path, content = re.findall(r"^\$ cat (\S+)\n(.*)$", text.strip())[0]
    machine["files"][path] = [content]


def port(machine: Machine, text: str) -> None:
    command, answer = text.splitlines()
    machine["commands"][command.removeprefix("$ ")] = said(answer)


def near(machine: Machine, text: str) -> None:
    _, row, _, status = text.splitlines()
    machine["commands"]["npu-smi info -t topo"] = said("\tNPU0       NPU1       CPU Affinity", row)
    machine["files"]["/proc/self/status"] = [status]


def soaked(machine: Machine, text: str) -> None:
    """Without device 3 another eight are counted, all of them right."""
    if "--soak" in text:
        machine["children"][SOAK] = soak(wrong=12)


def before_and_now(machine: Machine, text: str) -> None:
    """The page shows the firmware of before and that of now; the machine has the latter."""
    before, now = re.findall(r"Firmware Version +: (\S+)", text)
    machine["recorded"] = Snapshot(facts={"firmware of NPU 0": before})
    edit(machine, "commands|npu-smi info -t board -i 0|stdout", "7.8.0.6.201", now)


SHOWN: dict[str, tuple[str, Callable[[Machine, str], None]]] = {
    "runner/device-nodes": (CONTAINER, device_nodes),
    "runner/npu-smi": (HOST, complaint),
    "runner/health": (HOST, chips),
    "runner/driver": (HOST, board),
    "runner/supported": (HOST, chips),
    "runner/cann": (HOST, home),
    "runner/python": (HOST, python),
    "runner/stack": (HOST, packages),
    "runner/torch-npu": (HOST, printed('"count": 8', '"count": {}')),
    "runner/compute": (HOST, product),
    "runner/memory": (HOST, free_memory),
    "runner/busy": (HOST, holders),
    "runner/disk": (HOST, disk),
    "runner/shm": (HOST, shared_memory),
    "runner/port": (HOST, listeners),
    "runner/visible-devices": (HOST, variables),
    "runner/container": (CONTAINER, mounts),
    "runner/ecc": (COMPLETE, counted),
    "runner/stray-triton": (COMPLETE, triton),
    "runner/custom-ops": (COMPLETE, operators),
    "runner/host-memory": (COMPLETE, first_file),
    "runner/links": (COMPLETE, port),
    "runner/affinity": (COMPLETE, near),
    "runner/soak": (COMPLETE, soaked),
    "runner/baseline": (COMPLETE, before_and_now),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id.removeprefix("runner/"))
def test_a_check_objects_to_its_example_and_not_to_the_repaired_one(page: catalogue.Page) -> None:
    shown = example(page)
    name, put = SHOWN[page.id]
    for texts, outcomes in (
        (shown.wrong, {Outcome.FAIL, Outcome.WARN}),
        (shown.right, {Outcome.PASS}),
    ):
        machine = complete() if name == COMPLETE else plain(name)
        put(machine, texts[""])
        earlier = machine.pop("recorded", None)
        depth = Depth.SOAK if name == COMPLETE else Depth.MINUTES
        result = results(machine, depth=depth, earlier=earlier)[page.id]
        assert result.outcome in outcomes, (texts, result.because, result.findings)
