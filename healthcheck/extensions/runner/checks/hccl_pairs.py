"""runner/hccl-pairs: HCCL works between each two devices."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.trial_records import Pair, Pairs
from healthcheck.extensions.runner.wording import GB, listed, needs_depth
from healthcheck.text.messages import msg

SHARE = 0.5
"""Of the median of all pairs: an inference. Devices of one machine can have two kinds of links."""
_MOST_ERRORS = 2


@npu_check(
    "runner/hccl-pairs",
    msg("HCCL works between each two devices"),
    why=msg(
        "A single bad link is hidden in an all-reduce over all devices, and slows all of them down."
    ),
)
def hccl_pairs(facts: RunnerFacts) -> Findings:
    """At --level 3 with three devices or more, each pair of devices all-reduces 16 MiB three times, and both must
    get the sum. A wrong sum or an error fails. A pair below half of the median speed warns, because no document
    says how fast a pair must be.

    To repair: exclude the device that all failing pairs share (ASCEND_RT_VISIBLE_DEVICES). `npu-smi info -t topo`
    shows how two devices are linked, `hccn_tool -i N -link -g` the state of a port.

    Example:
    192.0.2.9 is an address of another machine:

    ```sh
    export HCCL_IF_IP=192.0.2.9
    npu-adapter runner --level 3
    ```

    Use instead:

    ```sh
    unset HCCL_IF_IP
    npu-adapter runner --level 3
    ```
    """
    trial = facts.pairs
    if trial is None:
        needs_depth(facts, Depth.SOAK)
        raise NotApplicable(
            facts.stopped or msg("it takes three devices over which HCCL works (runner/hccl)")
        )
    for pair in trial.each:
        if pair.wrong:
            yield _wrong(pair)
    yield from _speeds(trial)
    fix = msg("read ~/ascend/log for EI… or EJ…; check the links of these devices")
    for error in trial.errors[:_MOST_ERRORS]:
        expected = msg("pairs without errors")
        yield fail(expected=expected, seen=error.text[:400], fix=fix, where=error.at)
    if not trial.errors:
        yield from _missing(trial)


def _wrong(pair: Pair) -> Finding:
    devices = listed(list(map(str, pair.wrong)))
    left, right = pair.devices
    seen = msg(
        "devices {left} and {right}: device {devices} got another",
        left=left,
        right=right,
        devices=devices,
    )
    fix = msg(
        "exclude device {device} (ASCEND_RT_VISIBLE_DEVICES) and run it again", device=pair.wrong[0]
    )
    return fail(expected=msg("the sum on both devices"), seen=seen, fix=fix)


def _speeds(trial: Pairs) -> Iterator[Finding]:
    rates = {pair.devices: pair.bytes_per_s / GB for pair in trial.each if pair.bytes_per_s}
    if not rates:
        return
    middle = statistics.median(rates.values())
    expected = msg(
        "at least {share:.0%} of the median, {middle:.3g} GB/s", share=SHARE, middle=middle
    )
    fix = msg("npu-smi info -t topo shows their link; run it again while nothing else runs")
    for (left, right), rate in rates.items():
        if rate < SHARE * middle:
            seen = msg(
                "devices {left} and {right}: {rate:.3g} GB/s", left=left, right=right, rate=rate
            )
            yield warn(expected=expected, seen=seen, fix=fix)
    yield note(
        msg(
            "{count} pairs: {middle:.3g} GB/s ({slowest:.3g} to {fastest:.3g})",
            count=len(rates),
            middle=middle,
            slowest=min(rates.values()),
            fastest=max(rates.values()),
        )
    )


def _missing(trial: Pairs) -> Iterator[Finding]:
    """Pairs without a result of both devices, and without an error that explains it."""
    done = sum(len(pair.right) + len(pair.wrong) == 2 for pair in trial.each)
    pairs = trial.world * (trial.world - 1) // 2
    if done < pairs:
        seen = msg("{done}; {ending}", done=done, ending=trial.ending)
        fix = msg(
            "run it again while nothing else runs; runner/hccl says whether all devices work together"
        )
        yield unsettled(expected=msg("results of {pairs} pairs", pairs=pairs), seen=seen, fix=fix)
