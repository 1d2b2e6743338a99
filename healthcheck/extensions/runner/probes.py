"""Reads the steps that the programs in `children` print."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from healthcheck.extensions.runner.trial_records import (
    Device,
    Hccl,
    Operators,
    Pair,
    Pairs,
    Product,
    Reading,
    Soak,
    Torch,
    TrialError,
    Window,
)
from healthcheck.machine import npu_smi
from healthcheck.machine.interface import Output
from healthcheck.machine.npu_smi import SmiError
from healthcheck.machine.steps import Step, named, parse, record
from healthcheck.text.messages import msg

MAX_WINDOWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The fields of a step that show where a program was, and its count."""

    step: str = ""
    module: str = ""
    at: str = ""
    index: int | None = None
    device: int | None = None
    count: int | None = None

    @property
    def said(self) -> str:
        """The step in words."""
        if self.step == "begin":
            return msg("device {index}", index=self.index)
        if self.step in {"device", "product"}:
            return msg("the product on device {index}", index=self.index)
        subject = self.module or self.at or ("" if self.index is None else str(self.index))
        return f"{self.step} {subject}" if subject else self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    rank: int
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _SideOfPair:
    rank: int
    left: int
    right: int
    same: bool
    bytes: int
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _BeginOfSoak:
    operations: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    at_s: float
    rows: tuple[str, ...]


def torch(output: Output) -> Torch:
    """The result of `children/torch_probe.py`."""
    said = parse(output)
    last = (record(said[-1], _Place) or _Place()) if said else _Place(step=msg("its start"))
    counts = named(said, "count", _Place)
    return Torch(
        output=output,
        last=last.said,
        last_device=last.index if last.device is None else last.device,
        at_end=bool(said) and said[-1].get("step") == "end",
        errors=named(said, "error", TrialError),
        imported=any(place.module == "torch_npu" for place in named(said, "imported", _Place)),
        count=counts[0].count if counts else None,
        devices=tuple(_devices(said)),
    )


def _devices(said: Iterable[Step]) -> Iterator[Device]:
    places = [
        place for name in ("begin", "device", "product") for place in named(said, name, _Place)
    ]
    known = {device.index: device for device in named(said, "device", Device)}
    products = named(said, "product", Product)
    for index in dict.fromkeys(place.index for place in places if place.index is not None):
        own = tuple(product for product in products if product.index == index)
        yield replace(known.get(index, Device(index=index)), products=own)


def hccl(output: Output, world: int) -> Hccl:
    """The result of `children/hccl_probe.py`."""
    said = parse(output)
    ranks = {each.rank: each.right for each in named(said, "reduced", _Sum)}
    return Hccl(
        output=output,
        world=world,
        right=tuple(sorted(rank for rank, right in ranks.items() if right)),
        wrong=tuple(sorted(rank for rank, right in ranks.items() if not right)),
        errors=named(said, "error", TrialError),
    )


def operators(output: Output) -> Operators:
    """The result of `children/operators_probe.py`."""
    steps = parse(output)
    found = named(steps, "operators", _Place)
    return Operators(
        output=output,
        module=found[0].module if found else "",
        count=found[0].count if found else None,
        errors=named(steps, "error", TrialError),
    )


def pairs(output: Output, world: int) -> Pairs:
    """The result of `children/pairs_probe.py`; both devices of a pair report it."""
    steps = parse(output)
    sides: dict[tuple[int, int], list[_SideOfPair]] = {}
    for side in named(steps, "pair", _SideOfPair)[:MAX_WINDOWS]:
        sides.setdefault((side.left, side.right), []).append(side)
    return Pairs(
        output=output,
        world=world,
        each=tuple(_pair(devices, both) for devices, both in sides.items()),
        errors=named(steps, "error", TrialError),
    )


def _pair(devices: tuple[int, int], sides: list[_SideOfPair]) -> Pair:
    return Pair(
        devices=devices,
        right=tuple(side.rank for side in sides if side.same),
        wrong=tuple(side.rank for side in sides if not side.same),
        bytes=sides[-1].bytes,
        seconds=max(side.seconds for side in sides),
    )


def soak(output: Output, *, asked_s: float, count: int) -> Soak:
    """The result of `children/soak_probe.py`."""
    said = parse(output)
    begins = named(said, "begin", _BeginOfSoak)
    return Soak(
        output=output,
        asked_s=asked_s,
        count=count,
        operations=begins[0].operations if begins else 0.0,
        windows=named(said, "window", Window)[:MAX_WINDOWS],
        readings=tuple(_readings(named(said, "table", _Table)))[:MAX_WINDOWS],
        errors=named(said, "error", TrialError),
    )


def _readings(tables: Iterable[_Table]) -> Iterator[Reading]:
    """The readings in tables of npu-smi, of which the program keeps the rows of chips."""
    for each in tables:
        with contextlib.suppress(SmiError):
            for chip in npu_smi.parse("\n".join(each.rows)).chips:
                yield Reading(
                    at_s=each.at_s, npu=chip.npu, chip=chip.chip, temperature_c=chip.temperature_c
                )
