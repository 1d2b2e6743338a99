"""runner/temperature: no chip is hot."""

from __future__ import annotations

import statistics

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import HOT_C, chip_name
from healthcheck.text.messages import msg

ABOVE_OTHERS_C = 25.0


@npu_check(
    "runner/temperature",
    "No chip is hot",
    why="A chip that is too hot computes more slowly, and in the end not at all.",
)
def temperature(facts: RunnerFacts) -> Findings:
    """Reads temperature and power of each chip from the table of npu-smi. 85 °C and more warns, and so does a
    chip that is 25 °C above the median of the others: its cooling may be broken. Neither limit is documented, so
    nothing fails here; where the driver sees too much heat, it says so in the health of the chip
    (runner/health). npu-smi prints the power that is drawn, and no limit of it.

    To repair: look at fans, dust and the temperature of the room; wait until the load is over.

    Example:
    ```console
    $ npu-smi info | grep 910B3
    | 0     910B3               | OK            | 93.1        97                0    / 0             |
    ```

    Use instead:

    ```console
    $ npu-smi info | grep 910B3
    | 0     910B3               | OK            | 93.1        41                0    / 0             |
    ```
    """
    known = [(chip, chip.temperature_c) for chip in facts.smi.chips if chip.temperature_c is not None]
    if not known:
        raise NotApplicable(msg("npu-smi prints no temperature here"))
    middle = statistics.median(degrees for _, degrees in known)
    limits, where = (HOT_C, ABOVE_OTHERS_C), f"{facts.smi.command} info"
    expected = msg("less than {hot_c:g} °C, and less than {above_others_c:g} °C above the median", *limits)
    fix = msg("look at the fans and the temperature of the room, and run it again without load")
    for chip, degrees in known:
        if degrees >= HOT_C or degrees - middle >= ABOVE_OTHERS_C:
            figures = chip_name(chip), degrees, middle
            seen = msg("{chip_name}: {degrees:g} °C; the median is {middle:g} °C", *figures)
            yield warn(expected=expected, seen=seen, fix=fix, where=where)
    watts = [chip.power_w for chip in facts.smi.chips if chip.power_w is not None]
    drawn = msg(", {watts:g} to {watts2:g} W", min(watts), max(watts)) if watts else ""
    coolest, hottest = min(degrees for _, degrees in known), max(degrees for _, degrees in known)
    yield note(msg("{degrees:g} to {degrees2:g} °C{drawn}", coolest, hottest, drawn))
