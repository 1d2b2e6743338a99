"""runner/bandwidth: copies to and from each device are intact, and as fast as those of other devices."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from healthcheck.core.check import Findings, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.snapshot import spread
from healthcheck.extensions.runner.trial_records import Transfer
from healthcheck.extensions.runner.wording import GB, RUNTIME_LOG, errors, made
from healthcheck.text.messages import msg

SHARE = 0.7
"""Of the median of all devices: an inference, since no document gives a limit."""


@npu_check(
    "runner/bandwidth",
    "Copies to and from each device are whole, and as fast as the others'",
    level=Depth.MINUTES,
    why="A card in a slow slot, or with a sick link, delays all devices of a server.",
)
def bandwidth(facts: RunnerFacts) -> Findings:
    """Copies 256 MiB five times to, from and on each device, and compares what comes back. A byte that changed
    fails. A device below 70 % of the median of all devices warns; no document says how fast one must be, so
    devices are compared with each other, and with an earlier run by --baseline.

    To repair: look at the width and speed of the card's slot (lspci -vv, LnkSta), let nothing else run, and run it
    again; for changed bytes exclude the device with ASCEND_RT_VISIBLE_DEVICES and have its memory checked.

    Example:
    ```pycon
    >>> x = torch.arange(2**26, dtype=torch.int32)
    >>> (x.to("npu:3").cpu() == x).all()
    tensor(False)
    ```

    Use instead, before the server starts:

    ```console
    $ export ASCEND_RT_VISIBLE_DEVICES=0,1,2,4,5,6,7
    ```
    """
    trial = made(facts, facts.transfers, msg("it takes devices that compute right"))
    for each in trial.each:
        if each.wrong:
            figures = each.index, each.wrong, each.bytes, each.way
            seen = msg("device {device}: {wrong} of {moved_bytes} bytes differ {way}", *figures)
            fix = msg("exclude device {device} (ASCEND_RT_VISIBLE_DEVICES) and have its memory checked", each.index)
            yield fail(expected=msg("the bytes that were copied"), seen=seen, fix=fix)
    for way in dict.fromkeys(each.way for each in trial.each):
        yield from _compared([each for each in trial.each if each.way == way], way)
    yield from errors(trial, expected=msg("copies without errors"), fix=RUNTIME_LOG)
    if not trial.at_end and not trial.errors:
        fix = msg("run it again while nothing else runs")
        yield unsettled(expected=msg("copies on every device"), seen=trial.ending, fix=fix)


def _compared(each: list[Transfer], way: str) -> Iterator[Finding]:
    middles = {transfer.index: statistics.median(transfer.rates) for transfer in each}
    middle = statistics.median(middles.values())
    expected = msg("at least {share:.0%} of the median {way}, {middle:.3g} GB/s", SHARE, way, middle / GB)
    fix = msg("look at the card's slot (lspci -vv, LnkSta) and run it again while nothing else runs")
    for transfer in each:
        if middles[transfer.index] < SHARE * middle:
            seen = msg("device {device}: {spread}", transfer.index, spread(transfer.rates))
            yield warn(expected=expected, seen=seen, fix=fix)
    yield note(msg("{way}: {spread} over {each} devices", way, spread(tuple(middles.values())), len(each)))
