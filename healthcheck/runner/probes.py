"""Reads the output of the programs in `children`: one JSON object a step, among other lines of libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from healthcheck import json_text
from healthcheck.json_text import JsonError
from healthcheck.messages import msg
from healthcheck.records import JsonValue
from healthcheck.runner.machine import Output
from healthcheck.runner.records import Software
from healthcheck.runner.trial_records import Device, Hccl, Product, Torch, TrialError, TrialStep

MARK = "@npu-adapter "
MOST_NUMBERS = 100
Step = dict[str, JsonValue]
_IN_WORDS = re.compile(
    r"(?P<import>import )|(?P<count>device count)|(?P<bfloat16>bfloat16)"
    r"|(?:(?P<memory>memory of )|(?P<name>name of )|(?P<product>product on ))?device (?P<device>\d{1,4})\b"
    r"|rank (?P<rank>\d{1,4})\b"
)
"""Where an error came, in recordings of kits that printed no `during`."""


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
                python=get_text(step, "python"),
                executable=get_text(step, "executable"),
                packages={name: text for name, text in packages.items() if isinstance(text, str)},
            )
    return Software(trouble=output.trouble or last_line(output) or msg("it printed nothing"), packages={})


def torch(output: Output) -> Torch:
    """Of `children/torch_probe.py`."""
    said = tuple(steps(output))
    counts = [step for step in said if step.get("step") == "count"]
    imports = {get_text(step, "module") for step in said if step.get("step") == "imported"}
    return Torch(
        output=output,
        last=_place(said[-1]) if said else msg("its start"),
        last_device=_device_of(said[-1]) if said else None,
        at_end=bool(said) and said[-1].get("step") == "end",
        errors=errors_in(said),
        imported="torch_npu" in imports,
        count=get_whole(counts[0], "count") if counts else None,
        devices=tuple(_devices(said)),
    )


def hccl(output: Output, world: int) -> Hccl:
    """Of `children/hccl_probe.py`."""
    said = tuple(steps(output))
    ranks = {get_whole(step, "rank"): step.get("right") is True for step in said if step.get("step") == "reduced"}
    return Hccl(
        output=output,
        world=world,
        right=tuple(sorted(rank for rank, right in ranks.items() if rank is not None and right)),
        wrong=tuple(sorted(rank for rank, right in ranks.items() if rank is not None and not right)),
        errors=errors_in(said),
    )


def last_line(output: Output, limit: int = 300) -> str:
    """The last line that says something: of a traceback, the one that names the cause."""
    lines = [line.strip() for line in output.stderr.splitlines() + output.stdout.splitlines() if line.strip()]
    stderr = [line.strip() for line in output.stderr.splitlines() if line.strip()]
    return (stderr or lines or [""])[-1][:limit]


def _devices(said: tuple[Step, ...]) -> Iterator[Device]:
    found: dict[int, Device] = {}
    for step in said:
        index = get_whole(step, "index")
        if index is None:
            continue
        device = found.get(index, Device(index=index))
        if step.get("step") == "device":
            bfloat16 = step.get("bfloat16")
            device = replace(
                device,
                name=get_text(step, "name"),
                free_bytes=get_whole(step, "free_bytes"),
                total_bytes=get_whole(step, "total_bytes"),
                bfloat16=bfloat16 if isinstance(bfloat16, bool) else None,
            )
        elif step.get("step") == "product":
            wrong, of = get_whole(step, "wrong"), get_whole(step, "of")
            if wrong is not None and of is not None:
                product = Product(kind=get_text(step, "kind"), wrong=wrong, of=of)
                device = replace(device, products=(*device.products, product))
        found[index] = device
    yield from found.values()


def errors_in(said: tuple[Step, ...]) -> tuple[TrialError, ...]:
    """The errors among the steps."""
    return tuple(_error(step) for step in said if step.get("step") == "error")


def _error(step: Step) -> TrialError:
    at, words, during = get_text(step, "at"), get_text(step, "text"), get_text(step, "during")
    if not during:
        return _error_in_words(at, words)
    known = next((one for one in TrialStep if one.value == during), None)
    return TrialError(at=at, text=words, step=known, device=get_whole(step, "device"))


def _error_in_words(at: str, text: str) -> TrialError:
    found = _IN_WORDS.match(at)
    if not found:
        return TrialError(at=at, text=text)
    device = found["device"] or found["rank"]
    named = next(
        (TrialStep(name) for name in ("import", "count", "bfloat16", "memory", "name", "product") if found[name]),
        None,
    )
    step = named or (TrialStep.SET_DEVICE if found["device"] else TrialStep.ALL_REDUCE)
    return TrialError(at=at, text=text, step=step, device=int(device) if device else None)


def _device_of(step: Step) -> int | None:
    return _error(step).device if step.get("step") == "error" else get_whole(step, "index")


def _place(step: Step) -> str:
    """The last step of the child, in words."""
    subject = step.get("module", step.get("at", step.get("index", "")))
    name = get_text(step, "step")
    if name == "begin":
        return msg("device {index}", subject)
    if name in {"device", "product"}:
        return msg("the product on device {index}", subject)
    return f"{name} {subject}".strip()


def get_text(step: Step, name: str) -> str:
    """A text of a step, "" if it has no such one."""
    value = step.get(name)
    return value if isinstance(value, str) else ""


def get_whole(step: Step, name: str) -> int | None:
    """A whole number of a step that is not negative."""
    value = step.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def get_number(step: Step, name: str) -> float | None:
    """A finite number of a step that is not negative."""
    return _finite(step.get(name))


def get_numbers(step: Step, name: str) -> tuple[float, ...]:
    """A list of such numbers; empty if it is none."""
    values = step.get(name)
    found = [_finite(value) for value in values[:MOST_NUMBERS]] if isinstance(values, list) else []
    return tuple(value for value in found if value is not None)


def _finite(value: JsonValue) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**63
    return float(value) if usable and isinstance(value, int | float) else None
