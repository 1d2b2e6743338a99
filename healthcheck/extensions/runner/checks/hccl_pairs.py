"""runner/hccl-pairs: HCCL works between any two devices."""

from __future__ import annotations

import statistics

from healthcheck.core.check import Findings, fail, note, unsettled, warn
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.snapshot import spread
from healthcheck.extensions.runner.wording import GB, errors, listed, made
from healthcheck.text.messages import msg

SHARE = 0.5
"""Of the median of all pairs; devices of one machine can have two kinds of links."""


@npu_check(
    "runner/hccl-pairs",
    "HCCL works between each two devices",
    level=Depth.MINUTES,
    why="A single bad link hides in an all-reduce over all devices, and slows it for all of them.",
)
def hccl_pairs(facts: RunnerFacts) -> Findings:
    """With three devices or more, each pair all-reduces 16 MiB three times; both must get the sum. A wrong sum
    fails. A pair below half of the median speed warns; no document says how fast one must be.

    To repair: exclude the device that all failing pairs share (ASCEND_RT_VISIBLE_DEVICES); npu-smi info -t topo
    shows how the two are linked, hccn_tool -i N -link -g the state of a port.

    Example:
    192.0.2.9 is an address of another machine:

    ```sh
    export HCCL_IF_IP=192.0.2.9
    npu-adapter runner
    ```

    Use instead:

    ```sh
    unset HCCL_IF_IP
    npu-adapter runner
    ```
    """
    trial = made(facts, facts.pairs, msg("it takes three devices over which HCCL works (runner/hccl)"))
    for pair in trial.each:
        if pair.wrong:
            wrong = listed(list(map(str, pair.wrong)))
            seen = msg("devices {left} and {right}: device {map} got another", *pair.devices, wrong)
            fix = msg("exclude device {wrong} (ASCEND_RT_VISIBLE_DEVICES) and run it again", pair.wrong[0])
            yield fail(expected=msg("the sum on both devices"), seen=seen, fix=fix)
    middles = {pair.devices: statistics.median(pair.rates) for pair in trial.each if pair.rates}
    middle = statistics.median(middles.values()) if middles else 0.0
    expected = msg("at least {share:.0%} of the median, {middle:.3g} GB/s", SHARE, middle / GB)
    fix = msg("npu-smi info -t topo for their link; run it again while nothing else runs")
    for devices, rate in middles.items():
        if rate < SHARE * middle:
            seen = msg("devices {left} and {right}: {rate:.3g} GB/s", *devices, rate / GB)
            yield warn(expected=expected, seen=seen, fix=fix)
    fix = msg("read ~/ascend/log for EI… or EJ…; look at the links of these devices")
    yield from errors(trial, expected=msg("pairs without errors"), fix=fix, most=2)
    done = sum(len(pair.right) + len(pair.wrong) == 2 for pair in trial.each)
    pairs = trial.world * (trial.world - 1) // 2
    if done < pairs and not trial.errors:
        expected, seen = msg("{expected} pairs", pairs), msg("{done}; {trouble}", done, trial.ending)
        fix = msg("run it again while nothing else runs; runner/hccl says whether all devices work together")
        yield unsettled(expected=expected, seen=seen, fix=fix)
    if middles:
        yield note(msg("{done} pairs: {spread}", done, spread(tuple(middles.values()))))
