"""runner/governor: the processors run at full speed."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import joined, msg

FULL = "performance"


@npu_check(
    "runner/governor",
    "The processors run at full speed",
    why="The host prepares each step of the devices; with slow processors the devices wait.",
)
def governor(facts: RunnerFacts) -> Findings:
    """Reads the frequency governor of the processors. Huawei's precheck for servers (msprechecker) expects
    `performance`; another one warns. A machine without this setting, such as most virtual ones, is skipped.

    To repair: cpupower frequency-set -g performance, on the host.

    Example:
    ```console
    $ cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
    powersave
    ```

    Use instead:

    ```console
    $ cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
    performance
    ```
    """
    counts = dict(facts.host.processors.governors)
    if not counts:
        raise NotApplicable(msg("the processors have no frequency governor here"))
    slower = {name: count for name, count in counts.items() if name != FULL}
    if slower:
        seen = joined(", ", (msg("{name} on {count} processors", *each) for each in slower.items()))
        fix = msg("on the host: cpupower frequency-set -g performance")
        where = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        yield warn(expected=msg("the governor {full}", FULL), seen=seen, fix=fix, where=where)
