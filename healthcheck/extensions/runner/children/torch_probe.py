"""Tries torch_npu on every device: free memory, number formats, a matrix product compared with the CPU's.

The factors are whole numbers from -1 to 1 and 64 terms are added, so that every product is exact in both float16
and bfloat16: a correct device returns exactly the CPU's numbers.
"""

import importlib
from typing import Any

from shared import said, say

SIZE = 64
MOST_DEVICES = 64


def attempt(what: str, action: Any, during: str, index: "int | None" = None) -> Any:
    """The action's value, or None after printing its error; a device that fails at one action may do another.

    `what` is for people; `during` and the device's index decide the severity of the error.
    """
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - whatever a driver raises is the finding
        say("error", at=what, during=during, device=index, text=said(error))
        return None


def device(torch: Any, index: int) -> None:
    say("begin", index=index)
    attempt(f"device {index}", lambda: torch.npu.set_device(index), "set device", index)
    memory = attempt(
        f"memory of device {index}", lambda: torch.npu.mem_get_info(index), "memory", index
    )
    name = attempt(
        f"name of device {index}", lambda: str(torch.npu.get_device_name(index)), "name", index
    )
    bfloat16 = attempt("bfloat16", lambda: bool(torch.npu.is_bf16_supported()), "bfloat16", index)
    free, total = memory or (None, None)
    say("device", index=index, name=name, free_bytes=free, total_bytes=total, bfloat16=bfloat16)
    for kind in ("float16", "bfloat16") if bfloat16 else ("float16",):
        what = f"product on device {index} in {kind}"
        wrong = attempt(what, lambda kind=kind: product(torch, index, kind), "product", index)
        if wrong is not None:
            say("product", index=index, kind=kind, wrong=wrong, of=SIZE * SIZE)


def product(torch: Any, index: int, kind: str) -> int:
    """The number of elements of the product that differ from the CPU's."""
    left = torch.tensor(
        [[float((3 * i + 7 * j) % 3 - 1) for j in range(SIZE)] for i in range(SIZE)]
    )
    right = torch.tensor(
        [[float((5 * i + 2 * j) % 5 % 3 - 1) for j in range(SIZE)] for i in range(SIZE)]
    )
    expected = (left @ right).tolist()
    place, number = f"npu:{index}", getattr(torch, kind)
    seen = (left.to(place).to(number) @ right.to(place).to(number)).float().cpu().tolist()
    return sum(a != b for row, other in zip(expected, seen) for a, b in zip(row, other))  # noqa: B905 - Python 3.9


def main() -> None:
    for name in ("torch", "torch_npu"):
        say("import", module=name)
        try:
            module = importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - a broken driver raises anything, SystemExit too
            say("error", at=f"import {name}", during="import", text=said(error))
            return
        say("imported", module=name, version=str(getattr(module, "__version__", "")))
    torch: Any = importlib.import_module("torch")
    count = attempt("device count", lambda: int(torch.npu.device_count()), "count")
    say("count", count=count and min(count, MOST_DEVICES))
    for index in range(min(count or 0, MOST_DEVICES)):
        device(torch, index)
    say("end")


main()
