"""runner/ascend-dmi: Huawei's own diagnosis finds nothing."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.dmi import LEFT_OUT, MILD, RESULTS, WELL, Diagnosis, Item
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import listed, needs_depth
from healthcheck.text.messages import joined, msg

HARDWARE = frozenset({"driver", "device", "hbm", "chipmemory", "hbmstress", "chipmemorystress", "aicore", "aicpu"})
"""Items that judge the device itself. The others depend on cables, settings or a table of reference speeds."""
_NOT_JUDGED = ("threshold failed from configuration file", "not support", "will not diagnose")
_DISTURBED = "seizing the NPU"
_ALSO_UNREAD = frozenset({"driver", "device"})
"""Items whose FAIL may also mean that the state could not be read, as in a container or without root."""


@npu_check(
    "runner/ascend-dmi",
    "Huawei's own diagnosis finds nothing",
    why="It reads registers and runs stress tests that no other program has.",
)
def ascend_dmi(facts: RunnerFacts) -> Findings:
    """Runs `ascend-dmi --dg --se SCENE --fmt json -q` of MindCluster ToolBox where it is installed: healthCheck
    at --level 2 (up to 2 minutes by its guide), performanceCheck (14 minutes to 3 hours) and stressTest (1.5 to
    9.5 hours) at --level 3; --scenes chooses among them. Its guide says that it disturbs what runs on the
    devices, so it is not started while npu-smi shows a process on one. It keeps a log in /var/log/ascend_check,
    or below the home of a user who is not root.

    FAIL and EMERGENCY_WARN of driver, device, memory and AI core fail; FAIL of driver and device also says that
    their state could not be read, so it only warns if the devices computed correctly. Other results than PASS
    and HEALTH warn: network, signal quality, bandwidth and speed also depend on cables and settings (with ECC
    on, the bandwidth is below the tool's own reference). What the tool cannot judge on this product is
    mentioned.

    To repair: follow the message; reset the chip or restart the machine, and run the item alone:
    ascend-dmi --dg -i ITEM. If it stays, have the card replaced.

    Example:
    ```console
    $ ascend-dmi --dg --se healthCheck -q
    Hardware:
        device:
            EMERGENCY_WARN
    ```

    Use instead:

    ```console
    $ ascend-dmi --dg --se healthCheck -q
    Hardware:
        device:
            HEALTH
    ```
    """
    seen = facts.diagnosed
    if seen is None or not seen.scenes:
        needs_depth(facts, Depth.MINUTES)
        raise NotApplicable((seen.trouble if seen else facts.stopped) or msg("it was not run"))
    if all(diagnosis.trouble for diagnosis in seen.scenes):
        troubles = (msg("{value}: {trouble}", each.scene.value, each.trouble) for each in seen.scenes)
        raise NotApplicable(joined("; ", troubles))
    for diagnosis in seen.scenes:
        if diagnosis.trouble:
            yield note(msg("{value} gave no result: {trouble}", diagnosis.scene.value, diagnosis.trouble))
            continue
        for item in diagnosis.items:
            if item.result not in WELL:
                yield _finding(facts, diagnosis, item)
        well = [item.name for item in diagnosis.items if item.result in WELL]
        yield note(msg("{value}: {well} passed", diagnosis.scene.value, listed(well, 20) or msg("nothing")))


def _finding(facts: RunnerFacts, diagnosis: Diagnosis, item: Item) -> Finding:
    comment = msg(" ({said})", item.said[:300]) if item.said else ""
    said = msg("{name}: {result}", item.name, item.result) + comment
    if item.result in LEFT_OUT or any(words in item.said.lower() for words in _NOT_JUDGED):
        return note(msg("not judged by ascend-dmi: {said}", said))
    unread = item.result == "FAIL" and item.name.lower() in _ALSO_UNREAD and facts.computed
    mild = item.result in MILD or item.result not in RESULTS or _DISTURBED in item.said or unread
    say = warn if mild or item.name.lower() not in HARDWARE else fail
    name, where = item.name, f"ascend-dmi --dg --se {diagnosis.scene.value}"
    fix = msg("run it alone: ascend-dmi --dg -i {name} -q; then reset the chip or restart the machine", name)
    return say(expected=msg("PASS or HEALTH"), seen=said, fix=fix, where=where)
