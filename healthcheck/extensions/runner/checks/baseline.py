"""runner/baseline: the machine is as an earlier run recorded it."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, note, warn
from healthcheck.extensions.runner.inventory import inventory
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.snapshot import changes
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.text.messages import msg

MOST_CHANGES = 40


@check(
    "runner/baseline",
    msg("The machine is as an earlier run recorded it"),
    stage=RUNNER,
    why=msg(
        "What changed since the machine was good is the first suspect when it is not good any more."
    ),
)
def baseline(facts: RunnerFacts) -> Findings:
    """With --baseline FILE, compares with the report.json of an earlier `runner --out`: versions of driver,
    firmware, CANN and Python packages, the devices and limits, and the counters of memory
    errors. A changed fact warns with the old and the new value, and so does a counter that grew. What one of the
    two runs did not look at, because its level was lower, is not compared.

    To repair: undo the change, or, if it was meant, keep the new report as the baseline.

    Example:
    Recorded before, and found now:

    ```console
    $ npu-smi info -t board -i 0 | grep Firmware
            Firmware Version               : 7.8.0.6.201
    $ npu-smi info -t board -i 0 | grep Firmware
            Firmware Version               : 7.7.0.1.231
    ```

    Use instead:

    ```console
    $ npu-smi info -t board -i 0 | grep Firmware
            Firmware Version               : 7.8.0.6.201
    $ npu-smi info -t board -i 0 | grep Firmware
            Firmware Version               : 7.8.0.6.201
    ```
    """
    earlier = facts.wanted.earlier
    if earlier is None:
        raise NotApplicable(msg("no earlier record was given (--baseline)"))
    now = inventory(facts)
    found = list(changes(earlier, now))
    fix = msg("undo the change, or keep this run's report.json as the new baseline")
    for name, was, is_ in found[:MOST_CHANGES]:
        expected = msg("{name}: {old}, as before", name=name, old=was or msg("none"))
        values = {"name": name, "old": was, "new": is_}
        yield warn(expected=expected, seen=is_ or msg("none"), fix=fix, evidence=values)
    if len(found) > MOST_CHANGES:
        yield note(msg("and {found} more changes", found=len(found) - MOST_CHANGES))
    pairs = (earlier.facts, now.facts), (earlier.counters, now.counters)
    both = sum(len(old.keys() & new.keys()) for old, new in pairs)
    yield note(
        msg(
            "{both} values compared with the record of {at}",
            both=both,
            at=earlier.at or msg("unknown time"),
        )
    )
