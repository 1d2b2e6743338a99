"""Imports vllm-ascend's own operators, as its worker does before the first layer."""

import importlib
import json
import sys
import traceback
from typing import Any

MODULES = ("torch", "torch_npu", "vllm_ascend.vllm_ascend_C")


def say(step: str, **fields: object) -> None:
    """One write, with a line end before it: other ranks and libraries write to the same stream."""
    sys.stdout.write("\n@npu-adapter " + json.dumps({"step": step, **fields}) + "\n")
    sys.stdout.flush()


def main() -> None:
    for name in MODULES:
        say("import", module=name)
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - a broken library raises anything, SystemExit too
            last = traceback.format_exception_only(type(error), error)[-1].strip()
            say("error", at=f"import {name}", during="import", text=last[:4000])
            return
    torch: Any = importlib.import_module("torch")
    names = [name for name in dir(getattr(torch.ops, "_C_ascend", None)) if not name.startswith("_")]
    say("operators", module=MODULES[-1], count=len(names))
    say("end")


main()
