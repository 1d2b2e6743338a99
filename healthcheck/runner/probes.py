"""Reads the output of the programs in `children`: one JSON object a step, among other lines of libraries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from healthcheck import json_text
from healthcheck.json_text import JsonError
from healthcheck.records import JsonValue
from healthcheck.runner.machine import Output
from healthcheck.runner.records import Device, Hccl, Product, Software, Torch

MARK = "@npu-adapter "
Step = dict[str, JsonValue]


def steps(output: Output) -> Iterator[Step]:
    """The steps in order; lines that are none, or were cut, are passed over."""
    for line in output.stdout.splitlines():
        for text in line.split(MARK)[1:]:
            try:
                step = json_text.load(text)
            except JsonError:
                continue
            if isinstance(step, dict):
                yield step


def software(output: Output) -> Software:
    """Of `children/versions.py`."""
    for step in steps(output):
        packages = step.get("packages")
        if step.get("step") == "versions" and isinstance(packages, dict):
            return Software(
                python=_text(step, "python"),
                executable=_text(step, "executable"),
                packages={name: text for name, text in packages.items() if isinstance(text, str)},
            )
    return Software(trouble=output.trouble or last_line(output) or "it printed nothing", packages={})


def torch(output: Output) -> Torch:
    """Of `children/torch_probe.py`."""
    said = tuple(steps(output))
    counts = [step for step in said if step.get("step") == "count"]
    imports = {_text(step, "module") for step in said if step.get("step") == "imported"}
    return Torch(
        output=output,
        last=_place(said[-1]) if said else "its start",
        errors=_errors(said),
        imported="torch_npu" in imports,
        count=_whole(counts[0], "count") if counts else None,
        devices=tuple(_devices(said)),
    )


def hccl(output: Output, world: int) -> Hccl:
    """Of `children/hccl_probe.py`."""
    said = tuple(steps(output))
    ranks = {_whole(step, "rank"): step.get("right") is True for step in said if step.get("step") == "reduced"}
    return Hccl(
        output=output,
        world=world,
        right=tuple(sorted(rank for rank, right in ranks.items() if rank is not None and right)),
        wrong=tuple(sorted(rank for rank, right in ranks.items() if rank is not None and not right)),
        errors=_errors(said),
    )


def last_line(output: Output, limit: int = 300) -> str:
    """The last line that says something: of a traceback, the one that names the cause."""
    lines = [line.strip() for line in output.stderr.splitlines() + output.stdout.splitlines() if line.strip()]
    stderr = [line.strip() for line in output.stderr.splitlines() if line.strip()]
    return (stderr or lines or [""])[-1][:limit]


def _devices(said: tuple[Step, ...]) -> Iterator[Device]:
    found: dict[int, Device] = {}
    for step in said:
        index = _whole(step, "index")
        if index is None:
            continue
        device = found.get(index, Device(index=index))
        if step.get("step") == "device":
            bfloat16 = step.get("bfloat16")
            device = replace(
                device,
                name=_text(step, "name"),
                free_bytes=_whole(step, "free_bytes"),
                total_bytes=_whole(step, "total_bytes"),
                bfloat16=bfloat16 if isinstance(bfloat16, bool) else None,
            )
        elif step.get("step") == "product":
            wrong, of = _whole(step, "wrong"), _whole(step, "of")
            if wrong is not None and of is not None:
                product = Product(kind=_text(step, "kind"), wrong=wrong, of=of)
                device = replace(device, products=(*device.products, product))
        found[index] = device
    yield from found.values()


def _errors(said: tuple[Step, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((_text(step, "at"), _text(step, "text")) for step in said if step.get("step") == "error")


def _place(step: Step) -> str:
    """The last step of the child, in words."""
    subject = step.get("module", step.get("at", step.get("index", "")))
    words = {"begin": "device", "device": "the product on device", "product": "the product on device"}
    name = _text(step, "step")
    return f"{words.get(name, name)} {subject}".strip()


def _text(step: Step, name: str) -> str:
    value = step.get(name)
    return value if isinstance(value, str) else ""


def _whole(step: Step, name: str) -> int | None:
    value = step.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None
