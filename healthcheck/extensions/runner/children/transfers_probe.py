"""Times copies to, from and on each device, and compares the bytes.

Called with the number of devices. A copy moves SIZE bytes; the first of each kind is not timed.
"""

import importlib
import sys
import time
from typing import Any

from shared import said, say

SIZE = 256 * 2**20
REPEATS = 5


def device(torch: Any, index: int) -> None:
    say("begin", index=index)
    torch.npu.set_device(index)
    place, host = f"npu:{index}", torch.arange(SIZE // 4, dtype=torch.int32)
    try:
        host = host.pin_memory()
    except Exception as error:  # noqa: BLE001 - copies from pageable memory are slower, and are still copies
        say("pageable", index=index, text=said(error))
    there = host.to(place)
    timed(torch, index, "to the device", lambda: host.to(place), host)
    timed(torch, index, "from the device", there.cpu, host)
    timed(torch, index, "on the device", there.clone, host)


def attempt(torch: Any, index: int) -> None:
    try:
        device(torch, index)
    except Exception as error:  # noqa: BLE001 - whatever a driver raises is the finding
        say("error", at=f"copies of device {index}", during="transfer", device=index, text=said(error))


def timed(torch: Any, index: int, way: str, copy: Any, host: Any) -> None:
    copied, seconds = copy(), []
    for _ in range(REPEATS):
        torch.npu.synchronize(index)
        began = time.monotonic()
        copied = copy()
        torch.npu.synchronize(index)
        seconds.append(round(time.monotonic() - began, 9))
    wrong = 4 * int((copied.cpu() != host).sum())
    say("transfer", index=index, way=way, bytes=SIZE, seconds=seconds, wrong=wrong)


def main() -> None:
    torch: Any = importlib.import_module("torch")
    importlib.import_module("torch_npu")
    for index in range(int(sys.argv[1])):
        attempt(torch, index)
    say("end")


main()
