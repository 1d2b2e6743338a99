"""runner/health: npu-smi reports every chip as healthy."""

from __future__ import annotations

from collections.abc import Callable

from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import chip_name
from healthcheck.machine.npu_smi import HEALTHS, Chip
from healthcheck.text.messages import msg


@npu_check(
    "runner/health",
    msg("The chips that will be used are healthy"),
    why=msg(
        "vllm-ascend's own health check treats anything but OK as an error; an urgent one can end a run half-way."
    ),
)
def health(facts: RunnerFacts) -> Findings:
    """Reads npu-smi's Health column. OK passes. Warning (a minor fault) warns, since such machines were seen to
    work. Alarm (major), Critical (urgent) and UNKNOWN (absent or not started) fail for the chips that will be used.
    An undocumented word warns if the devices computed correctly, and is inconclusive otherwise.

    The chips that will be used are the first --npus of those in ASCEND_RT_VISIBLE_DEVICES. The others are only
    mentioned.

    To repair: npu-smi info -t health -i NPU, and the driver's log (dmesg, /var/log/npu); reset the chip with
    npu-smi set -t reset -i NPU -c CHIP while nobody uses it, restart the machine, or exclude the chip with
    ASCEND_RT_VISIBLE_DEVICES.

    Example:
    ```console
    $ npu-smi info | grep 910B3
    | 0     910B3               | Critical      | 93.1        41                0    / 0             |
    ```

    Use instead:

    ```console
    $ npu-smi info | grep 910B3
    | 0     910B3               | OK            | 93.1        41                0    / 0             |
    ```
    """
    if not facts.smi.table:
        raise NotApplicable(msg("npu-smi shows no table of chips"))
    used, where = facts.in_use, f"{facts.smi.command} info"
    for chip in facts.smi.chips:
        if chip.health == HEALTHS[0]:
            continue
        seen = msg(
            "{device} ({name}): {health}",
            device=chip_name(chip),
            name=chip.name,
            health=chip.health,
        )
        if chip not in used:
            yield note(msg("{seen}; it will not be used", seen=seen), where=where)
            continue
        say, expected = _weight(facts, chip), msg("health {healths}", healths=HEALTHS[0])
        fix = msg(
            "npu-smi set -t reset -i {npu} -c {chip} while nobody uses it, or exclude it with "
            "ASCEND_RT_VISIBLE_DEVICES",
            npu=chip.npu,
            chip=chip.chip,
        )
        yield say(expected=expected, seen=seen, fix=fix, where=where)


def _weight(facts: RunnerFacts, chip: Chip) -> Callable[..., Finding]:
    """The severity of a documented word is fixed; that of other words depends on the computation."""
    if chip.health in HEALTHS:
        return warn if chip.health == HEALTHS[1] else fail
    return warn if facts.computed else unsettled
