"""Imports vllm-ascend's own operators, as its worker does before the first layer."""

import importlib
from typing import Any

from shared import said, say

MODULES = ("torch", "torch_npu", "vllm_ascend.vllm_ascend_C")


def main() -> None:
    for name in MODULES:
        say("import", module=name)
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - a broken library raises anything, SystemExit too
            say("error", at=f"import {name}", during="import", text=said(error))
            return
    torch: Any = importlib.import_module("torch")
    names = [
        name for name in dir(getattr(torch.ops, "_C_ascend", None)) if not name.startswith("_")
    ]
    say("operators", module=MODULES[-1], count=len(names))
    say("end")


main()
