"""Stubs for torch_npu's information about devices."""

from __future__ import annotations

from typing import Any

from healthcheck.stages.plan.dry_run.stubs import image
from healthcheck.stages.plan.dry_run.stubs.permissive import Anything, Base


def npu() -> dict[str, Any]:
    """torch.npu: the visible devices, their kind and their memory."""
    shown = image.devices()
    total = int(shown["usable_bytes"])
    properties = Base(name=shown["soc"], total_memory=total)
    return {
        "is_available": lambda: image.visible_devices() > 0,
        "device_count": image.visible_devices,
        "get_device_name": lambda *_, **__: shown["soc"],
        "get_device_properties": lambda *_, **__: properties,
        "mem_get_info": lambda *_, **__: (total, total),
        "is_bf16_supported": lambda *_, **__: bool(shown["bfloat16"]),
    }


def parts(name: str) -> dict[str, Any]:
    """The stubbed attributes of a library that shows devices, by module name."""
    if name in {"torch.npu", "torch_npu.npu"}:
        return npu()
    if name in {"torch", "torch_npu"}:
        stub = Anything("torch.npu")
        stub.__dict__.update(npu())
        return {"npu": stub}
    return {}
