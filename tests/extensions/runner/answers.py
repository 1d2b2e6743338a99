"""Adds to a recorded machine what the checks of the deeper levels ask for: hand-written answers in documented forms.

None of them was recorded on an NPU. Counters, links and the topology have the form of public outputs; the lines of the
programs in `children` have the form that tests/extensions/runner/test_trials.py gets from the programs themselves.
"""

from __future__ import annotations

import json
from typing import Any

from healthcheck.extensions.runner.trials import PRODUCT_SIZE
from tests.extensions.runner.replaying import Machine, plain

SOAK = f"soak_probe 1200 8 {PRODUCT_SIZE} npu-smi"
NEAR = ("144-167", "144-167", "96-119", "96-119", "0-23", "0-23", "48-71", "48-71")
"""The processors near each device."""
COUNTERS = (
    "HBM Single Bit Error Count",
    "HBM Double Bit Error Count",
    "HBM Single Bit Aggregate Total Err Cnt",
    "HBM Double Bit Aggregate Total Err Cnt",
    "HBM Single Bit Isolated Pages Count",
    "HBM Double Bit Isolated Pages Count",
    "HBM Single Bit Next-Isolated Pages Count",
    "HBM Double Bit Next-Isolated Pages Count",
)


def said(*lines: str, status: int = 0) -> dict[str, Any]:
    return {"status": status, "stdout": list(lines), "stderr": [], "trouble": ""}


def step(name: str, **fields: object) -> str:
    return "@npu-adapter " + json.dumps({"step": name, **fields})


def counters(npu: int, **counts: int) -> dict[str, Any]:
    """`npu-smi info -t ecc`; a count is named by its words with underscores, such as HBM_Double_Bit_Error_Count."""
    given = {name.replace("_", " "): count for name, count in counts.items()}
    rows = [f"        {name:<40} : {given.get(name, 0)}" for name in COUNTERS]
    head = [
        f"        NPU ID                                   : {npu}",
        "        Chip Count : 1",
        "",
    ]
    return said(*head, *rows, "        Chip ID                                  : 0")


def topology() -> dict[str, Any]:
    """`npu-smi info -t topo`."""
    names = [f"NPU{npu}" for npu in range(8)]
    rows = [
        "  ".join([name, *("X" if name == other else "HCCS" for other in names), near])
        for name, near in zip(names, NEAR, strict=True)
    ]
    return said(
        "\t" + "  ".join(names) + "  CPU Affinity", *rows, "", "Legend:", "", "  X    = Self"
    )


def pair_steps(
    left: int, right: int, *, seconds: float = 0.001, wrong: int | None = None
) -> list[str]:
    """The report of both devices of a pair; `wrong` is the device that got another sum."""
    times = [seconds, 1.1 * seconds, 0.9 * seconds]
    return [
        step(
            "pair",
            rank=rank,
            left=left,
            right=right,
            same=rank != wrong,
            bytes=2**24,
            seconds=times,
        )
        for rank in (left, right)
    ]


def pairs(other: list[str] | None = None) -> dict[str, Any]:
    """The pairs of eight devices; `other` takes the place of the report on devices 3 and 5."""
    lines: list[str] = []
    for left in range(8):
        for right in range(left + 1, 8):
            lines += (
                other if other is not None and (left, right) == (3, 5) else pair_steps(left, right)
            )
    return said(*lines, step("end"))


def soak(
    *,
    wrong: int = 0,
    slow: float = 1.0,
    late: float = 1.0,
    celsius: int = 62,
    part_s: float = 100.0,
) -> dict[str, Any]:
    """Twelve parts on eight devices; device 3 is wrong, slow, or slow at last."""
    lines = [step("begin", devices=8, operations=3.4e10)]
    for part in range(1, 13):
        for device in range(8):
            speed = (slow * (late if part > 8 else 1)) if device == 3 else 1
            bad = wrong if (device, part) == (3, 5) else 0
            lines.append(step("window", index=device, at_s=part_s * part, seconds=part_s,
                              products=round(500_000 * speed), wrong=bad))  # fmt: skip
        rows = [row for npu in range(8) for row in (
            f"| {npu} 910B3 | OK | 310.5 {celsius} 0 / 0 |", f"| 0 | 0000:0{npu}:00.0 | 98 0 / 0 5400 / 65536 |")]  # fmt: skip
        lines.append(step("table", at_s=part_s * part, rows=rows))
    return said(
        *lines, *(step("ended", index=device, status=0) for device in range(8)), step("end")
    )


def complete(name: str = "healthy-910b3-x8") -> Machine:
    """A machine that answers everything, all well."""
    machine = plain(name)
    commands, children, files, paths = (
        machine[part] for part in ("commands", "children", "files", "paths")
    )
    commands |= {f"npu-smi info -t ecc -i {npu}": counters(npu) for npu in range(8)}
    commands |= {f"hccn_tool -i {npu} -link -g": said("link status: UP") for npu in range(8)}
    commands |= {
        f"hccn_tool -i {npu} -net_health -g": said("net health status: Success") for npu in range(8)
    }
    commands["npu-smi info -t topo"] = topology()
    commands["uname -m"] = said("aarch64")
    operators = step("operators", module="vllm_ascend.vllm_ascend_C", count=41)
    children["operators_probe"] = said(operators, step("end"))
    children["pairs_probe 8"] = pairs()
    children[SOAK] = soak()
    files |= {
        "/proc/meminfo": ["MemTotal:       2113929216 kB", "MemAvailable:   2013929216 kB"],
        "/proc/self/status": ["Name:\tpython3", "Cpus_allowed_list:\t0-191"],
        "/proc/self/cgroup": ["0::/user.slice"],
        "/sys/fs/cgroup/user.slice/memory.max": ["max"],
    }
    machine["variables"]["MODEL_PATH"] = "/models/Qwen3-8B"
    paths["/models/Qwen3-8B"] = [{"path": "/models/Qwen3-8B"}]
    machine["spaces"]["/models/Qwen3-8B"] = {"total_bytes": 10**13, "free_bytes": 10**12}
    machine["read_speeds"]["/models/Qwen3-8B"] = {
        "read_bytes": 2**29,
        "seconds": 0.5,
        "of": "/models/Qwen3-8B/x",
    }
    return machine
