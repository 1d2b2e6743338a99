"""Computes the same exact products on all devices at once for a while, and polls npu-smi.

Called with the seconds, the number of devices, the size of a product and the command for npu-smi; it calls itself
once per device. The factors are whole numbers from -1 to 1 and TERMS of them are added, so every sum is
exact in float16 and in bfloat16. The expected product is the CPU's; the device compares its own products with that.
"""

import contextlib
import importlib
import os
import re
import subprocess
import sys
import time
from typing import Any

from shared import any_runs, said, say

TERMS = 256
MOST_PARTS = 40
SHORTEST_S = 1.0
TOOL_S = 20


def device_main(index: int, seconds: float, size: int, ready: int) -> None:
    try:
        torch: Any = importlib.import_module("torch")
        importlib.import_module("torch_npu")
        torch.npu.set_device(index)
        place = f"npu:{index}"
        kind = torch.bfloat16 if torch.npu.is_bf16_supported() else torch.float16
        torch.manual_seed(index)
        left, right = (
            torch.randint(-1, 2, (size, TERMS)).float(),
            torch.randint(-1, 2, (TERMS, size)).float(),
        )
        expected = (left @ right).to(place).to(kind)
        left, right = left.to(place).to(kind), right.to(place).to(kind)
        int((left @ right != expected).sum())
        os.write(ready, b".")
        os.close(ready)
        sys.stdin.readline()
        compute(index, seconds, lambda: int((left @ right != expected).sum()))
    except BaseException as error:
        say("error", at=f"device {index}", during="product", device=index, text=said(error))
        raise SystemExit(1) from error


def compute(index: int, seconds: float, differing: Any) -> None:
    """Compute until the end; prints one line for each part of the time."""
    part, began = max(seconds / MOST_PARTS, SHORTEST_S), time.monotonic()
    end = began + seconds
    while (start := time.monotonic()) < end:
        products = wrong = 0
        while time.monotonic() < min(start + part, end) or not products:
            wrong += differing()
            products += 1
        now = time.monotonic()
        at_s, took_s = round(now - began, 3), round(now - start, 3)
        say("window", index=index, at_s=at_s, seconds=took_s, products=products, wrong=wrong)


def table(tool: str, began: float) -> None:
    """Print npu-smi's current rows of chips, with single spaces."""
    try:
        done = subprocess.run(
            [tool, "info"], capture_output=True, text=True, timeout=TOOL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    rows = [re.sub(r" +", " ", line) for line in done.stdout.splitlines() if line.startswith("|")]
    border = next((at for at, row in enumerate(rows) if "Process id" in row), len(rows))
    rows = [row for row in rows[:border] if re.search(r"\d", row)][:200]
    if rows:
        say("table", at_s=round(time.monotonic() - began, 3), rows=rows)


def main() -> None:
    seconds, count, size, tool = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    say("begin", devices=count, operations=2.0 * size * size * TERMS)
    come, ready = os.pipe()
    command = [sys.executable, __file__, "device", sys.argv[1], sys.argv[3], str(ready)]
    commands = [[*command, str(index)] for index in range(count)]
    devices = [
        subprocess.Popen(each, stdin=subprocess.PIPE, pass_fds=(ready,)) for each in commands
    ]
    os.close(ready)
    begin(devices, come)
    part, began = max(seconds / MOST_PARTS, SHORTEST_S), time.monotonic()
    while any_runs(devices):
        table(tool, began)
        wait(devices, part)
    table(tool, began)
    for index, process in enumerate(devices):
        say("ended", index=index, status=process.wait())
    say("end")


def begin(devices: "list[subprocess.Popen[bytes]]", come: int) -> None:
    """Start all devices together when each is ready or has failed."""
    while os.read(come, 64):
        pass
    for process in devices:
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"\n")
            process.stdin.close()


def wait(devices: "list[subprocess.Popen[bytes]]", seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and any_runs(devices):
        time.sleep(0.1)


if sys.argv[1] == "device":
    device_main(int(sys.argv[5]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
else:
    main()
