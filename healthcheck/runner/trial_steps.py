"""Reads what the longer programs in `children` printed: operators, pairs, copies, the soak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from healthcheck.messages import msg
from healthcheck.runner import npu_smi
from healthcheck.runner.machine import Output
from healthcheck.runner.npu_smi import SmiError
from healthcheck.runner.probes import Step, errors_in, get_number, get_numbers, get_text, get_whole, steps
from healthcheck.runner.trial_records import Operators, Pair, Pairs, Reading, Soak, Transfer, Transfers, Window

MAX_WINDOWS = 20_000


def operators(output: Output) -> Operators:
    """Of `children/operators_probe.py`."""
    said = tuple(steps(output))
    found = [step for step in said if step.get("step") == "operators"]
    return Operators(
        output=output,
        imported=get_text(found[0], "module") if found else "",
        count=get_whole(found[0], "count") if found else None,
        errors=errors_in(said),
    )


def pairs(output: Output, world: int) -> Pairs:
    """Of `children/pairs_probe.py`; each of the two devices reports the pair."""
    said = tuple(steps(output))
    found: dict[tuple[int, int], Pair] = {}
    for step in said:
        rank, left, right = get_whole(step, "rank"), get_whole(step, "left"), get_whole(step, "right")
        if step.get("step") != "pair" or rank is None or left is None or right is None:
            continue
        pair = found.get((left, right), Pair(devices=(left, right)))
        seconds = get_numbers(step, "seconds")
        pair = replace(pair, moved_bytes=get_whole(step, "bytes") or 0, seconds=max(pair.seconds, seconds))
        if step.get("same") is True:
            pair = replace(pair, right=(*pair.right, rank))
        else:
            pair = replace(pair, wrong=(*pair.wrong, rank))
        found[left, right] = pair
    return Pairs(output=output, world=world, each=tuple(found.values()), errors=errors_in(said))


def transfers(output: Output) -> Transfers:
    """Of `children/transfers_probe.py`."""
    said = tuple(steps(output))
    return Transfers(
        output=output,
        at_end=bool(said) and said[-1].get("step") == "end",
        each=tuple(found for step in said if (found := _transfer(step))),
        errors=errors_in(said),
    )


def _transfer(step: Step) -> Transfer | None:
    device, moved, wrong = get_whole(step, "index"), get_whole(step, "bytes"), get_whole(step, "wrong")
    seconds = get_numbers(step, "seconds")
    if step.get("step") != "transfer" or device is None or moved is None or wrong is None or not seconds:
        return None
    return Transfer(device=device, way=get_text(step, "way")[:40], moved_bytes=moved, seconds=seconds, wrong=wrong)


def soak(output: Output, *, asked_s: float, count: int) -> Soak:
    """Of `children/soak_probe.py`."""
    said = tuple(steps(output))
    begins = [step for step in said if step.get("step") == "begin"]
    return Soak(
        output=output,
        asked_s=asked_s,
        count=count,
        operations=(get_number(begins[0], "operations") or 0.0) if begins else 0.0,
        at_end=bool(said) and said[-1].get("step") == "end",
        windows=tuple(_windows(said))[:MAX_WINDOWS],
        readings=tuple(_readings(said))[:MAX_WINDOWS],
        errors=errors_in(said),
    )


def _windows(said: tuple[Step, ...]) -> Iterator[Window]:
    for step in said:
        device, products, wrong = get_whole(step, "index"), get_whole(step, "products"), get_whole(step, "wrong")
        at_s, seconds = get_number(step, "at_s"), get_number(step, msg("seconds"))
        if step.get("step") != "window" or device is None or products is None or wrong is None:
            continue
        if at_s is not None and seconds is not None:
            yield Window(device=device, at_s=at_s, seconds=seconds, products=products, wrong=wrong)


def _readings(said: tuple[Step, ...]) -> Iterator[Reading]:
    """From tables of npu-smi, of which the program keeps the rows of chips."""
    for step in said:
        at_s, rows = get_number(step, "at_s"), step.get("rows")
        if step.get("step") != "table" or at_s is None or not isinstance(rows, list):
            continue
        try:
            table = npu_smi.parse("\n".join(row for row in rows if isinstance(row, str)))
        except SmiError:
            continue
        for chip in table.chips:
            yield Reading(
                at_s=at_s, npu=chip.npu, chip=chip.chip, temperature_c=chip.temperature_c, power_w=chip.power_w
            )
