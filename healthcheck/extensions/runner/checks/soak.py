"""runner/soak: all devices compute correctly for a while, without slowing down."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner import ecc
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.trial_records import Soak
from healthcheck.extensions.runner.wording import HOT_C, needs_depth
from healthcheck.text.messages import msg

SHARE = 0.85
"""Of the other devices' speed, and of the device's own at first: an inference, since no document gives a limit."""
WHOLE = 0.97
"""The share of its time after which a soak counts as complete: one part of it is a fortieth."""
COMPARED_S = 10.0
"""The least time for comparing speeds: over less, one second of a busy host looks like a slow device."""


@npu_check(
    "runner/soak",
    msg("All devices compute right, and as fast as at first, for a while"),
    why=msg("Heat, power and weak cells show only under load that lasts."),
)
def soak(facts: RunnerFacts) -> Findings:
    """At --level 3 all devices compute the same product of whole numbers for --soak minutes, at once, and
    compare each result with the CPU's. An element that differs fails, and so does an error or a device that
    stops. npu-smi is watched meanwhile. A device below 85 % of the median of all, or of its own speed in the
    first third, warns, and so do 85 °C and a memory error that npu-smi counted meanwhile. A soak of less than
    ten seconds compares no speeds.

    To repair: for wrong results exclude the device (ASCEND_RT_VISIBLE_DEVICES) and have it replaced; for a
    slower one look at the fans, the room and the power supply.

    Example:
    Device 3 computes 12 elements wrong in an hour:

    ```console
    $ npu-adapter runner --soak 60
    ```

    Use instead, before the server starts:

    ```console
    $ export ASCEND_RT_VISIBLE_DEVICES=0,1,2,4,5,6,7
    ```
    """
    trial = facts.soak
    if trial is None:
        needs_depth(facts, Depth.SOAK)
        raise NotApplicable(facts.stopped or msg("it takes devices that compute right"))
    yield from _wrong(trial)
    fix = msg("look the code up in the log of the runtime (~/ascend/log), and reset that chip")
    for error in trial.errors[:4]:
        yield fail(
            expected=msg("products without errors"), seen=error.text[:400], fix=fix, where=error.at
        )
    if facts.stopped:
        seen = msg(
            "{stopped} after {lasted_s:.1f} min",
            stopped=facts.stopped,
            lasted_s=trial.lasted_s / 60,
        )
        fix = msg("run it again for a shorter time: --soak MINUTES")
        yield unsettled(
            expected=msg("{asked_s:g} min", asked_s=trial.asked_s / 60), seen=seen, fix=fix
        )
    else:
        yield from _early(trial)
    yield from _speeds(trial)
    yield from _heat(trial)
    fix = msg("run it again; if it grows each time, have the card replaced")
    for each, name, old in ecc.grown(facts.ecc, facts.ecc_after):
        expected = msg("no memory error during the soak, {name} {old}", name=name, old=old)
        seen = msg(
            "NPU {npu} chip {chip}: {counts}",
            npu=each.npu,
            chip=each.chip,
            counts=each.counts[name],
        )
        yield warn(expected=expected, seen=seen, fix=fix)


def _wrong(trial: Soak) -> Iterator[Finding]:
    expected = msg("the elements that the CPU computes")
    for device in range(trial.count):
        own = trial.own(device)
        wrong, products = (
            sum(window.wrong for window in own),
            sum(window.products for window in own),
        )
        if wrong:
            first = next(window.at_s for window in own if window.wrong)
            seen = msg(
                "device {device}: {wrong} elements differ in {products} products, the first within {first:.0f} s",
                device=device,
                wrong=wrong,
                products=products,
                first=first,
            )
            fix = msg(
                "exclude device {device} (ASCEND_RT_VISIBLE_DEVICES) and have it replaced",
                device=device,
            )
            yield fail(expected=expected, seen=seen, fix=fix)


def _early(trial: Soak) -> Iterator[Finding]:
    """Devices that stopped or never began, without an error that explains it."""
    named = {error.device for error in trial.errors}
    expected = msg("products for {asked_s:g} min", asked_s=trial.asked_s / 60)
    trouble = trial.output.trouble or msg("its process ended")
    for device in range(trial.count):
        at_s = trial.ended_s(device)
        if at_s < WHOLE * trial.asked_s and device not in named:
            seen = msg(
                "device {device} stopped after {at_s:.0f} s: {trouble}",
                device=device,
                at_s=at_s,
                trouble=trouble,
            )
            fix = msg(
                "reset that chip (npu-smi set -t reset), or exclude device {device}; run it again",
                device=device,
            )
            yield fail(expected=expected, seen=seen, fix=fix)


def _speeds(trial: Soak) -> Iterator[Finding]:
    known = {
        device: speed for device in range(trial.count) if (speed := trial.speed(device)) is not None
    }
    if known:
        yield from _slower(trial, known)
        said = msg(
            "{known} devices for {minutes:.1f} min: {slowest:.3g} to {fastest:.3g} TFLOP/s each",
            known=len(known),
            minutes=trial.lasted_s / 60,
            slowest=min(known.values()),
            fastest=max(known.values()),
        )
        yield note(said)


def _slower(trial: Soak, known: dict[int, float]) -> Iterator[Finding]:
    """Devices that are slower than the others, or than at first, among those that computed long enough."""
    compared = {
        device: speed for device, speed in known.items() if trial.ended_s(device) >= COMPARED_S
    }
    middle = statistics.median(compared.values()) if compared else 0.0
    for device, speed in compared.items():
        own = [value for _, value in trial.speeds(device)][1:]
        third = len(own) // 3
        first = statistics.median(own[:third]) if third else speed
        last = statistics.median(own[-third:]) if third else speed
        if speed < SHARE * middle:
            expected = msg(
                "at least {share:.0%} of the median of all devices, {middle:.3g} TFLOP/s",
                share=SHARE,
                middle=middle,
            )
            seen = msg("device {device}: {speed:.3g} TFLOP/s", device=device, speed=speed)
            fix = msg("look at its temperature, power and health (npu-smi info), and run it again")
            yield warn(expected=expected, seen=seen, fix=fix)
        elif last < SHARE * first:
            expected = msg(
                "at least {share:.0%} of its speed at first, {first:.3g} TFLOP/s",
                share=SHARE,
                first=first,
            )
            seen = msg("device {device}: {last:.3g} TFLOP/s at last", device=device, last=last)
            fix = msg(
                "look at the fans, the room and the power supply: the device slows down under load"
            )
            yield warn(expected=expected, seen=seen, fix=fix)


def _heat(trial: Soak) -> Iterator[Finding]:
    known = [
        (reading.temperature_c, reading)
        for reading in trial.readings
        if reading.temperature_c is not None
    ]
    if not known:
        return
    degrees, hottest = max(known, key=lambda pair: pair[0])
    seen = msg(
        "NPU {npu} chip {chip}: {degrees:g} °C after {at_s:.0f} s",
        npu=hottest.npu,
        chip=hottest.chip,
        degrees=degrees,
        at_s=hottest.at_s,
    )
    if degrees >= HOT_C:
        fix = msg("look at the fans and the room")
        yield warn(expected=msg("less than {hot_c:g} °C", hot_c=HOT_C), seen=seen, fix=fix)
    else:
        yield note(msg("hottest: {place}", place=seen))
